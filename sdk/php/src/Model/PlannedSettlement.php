<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class PlannedSettlement extends Model
{
    /** The network it is on. */
    public readonly string $network;
    /** The wallet that is paid. */
    public readonly string $destination;
    /** The coin that settlements are paid in. */
    public readonly string $settlementCurrency;
    /** What payments brought in: decimal. */
    public readonly string $grossAmount;
    /** The service fee: decimal. */
    public readonly string $feeAmount;
    /** What refunds took: decimal. */
    public readonly string $refundAmount;
    /** The part of `refundAmount` that repays debts elsewhere. */
    public readonly string $debtAmount;
    /** As of now: what comes in until then is added. */
    public readonly string $amount;
    /** How many payments are in it. */
    public readonly int $paymentCount;
    /**
     * By coin: the price of one in the settlement currency now. Null when nothing has to be converted, or there is no
     * rate at the moment.
     * @var array<string, ExchangeRate>|null
     */
    public readonly ?array $exchangeRate;
    /** Why the network would not have paid this wallet when it was last asked; the settlement asks again. */
    public readonly ?string $problem;
    /** The same as a sentence for people, and what to do. */
    public readonly ?string $problemMessage;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['network']) && $this->network = (string) $raw['network'];
        isset($raw['destination']) && $this->destination = (string) $raw['destination'];
        isset($raw['settlementCurrency']) && $this->settlementCurrency = (string) $raw['settlementCurrency'];
        isset($raw['grossAmount']) && $this->grossAmount = (string) $raw['grossAmount'];
        isset($raw['feeAmount']) && $this->feeAmount = (string) $raw['feeAmount'];
        isset($raw['refundAmount']) && $this->refundAmount = (string) $raw['refundAmount'];
        isset($raw['debtAmount']) && $this->debtAmount = (string) $raw['debtAmount'];
        isset($raw['amount']) && $this->amount = (string) $raw['amount'];
        isset($raw['paymentCount']) && $this->paymentCount = (int) $raw['paymentCount'];
        $this->exchangeRate = isset($raw['exchangeRate'])
            ? array_map(ExchangeRate::of(...), $raw['exchangeRate'])
            : null;
        $this->problem = isset($raw['problem']) ? (string) $raw['problem'] : null;
        $this->problemMessage = isset($raw['problemMessage']) ? (string) $raw['problemMessage'] : null;
    }
}
