<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Decimal;
use Ballast\Model;

final class MonthEntry extends Model
{
    /** What it was: a kind of balance change, `fee`, or the kind of posting. */
    public readonly string $type;
    /** The day in the time zone of the statement. */
    public readonly string $date;
    /** When it was posted. */
    public readonly \DateTimeImmutable $time;
    /** Below zero when money went. */
    public readonly string $amount;
    /** After it. */
    public readonly string $balance;
    /** What it was worth when its payment was quoted. */
    public readonly ?string $fiatAmount;
    /** Of `fiatAmount`. */
    public readonly ?string $fiatCurrency;
    /** The payment that it belongs to. */
    public readonly ?string $paymentId;
    /** What it was for: the id of a record. */
    public readonly string $reference;
    /** The settlement that took it into account. */
    public readonly ?string $settlementId;
    /** The coin that it was settled in. */
    public readonly ?string $settlementCurrency;
    /** What it became there, at the rate that was recorded. */
    public readonly ?string $inSettlementCurrency;
    /** What one of the coin became in the settlement currency. */
    public readonly ?string $rate;
    /**
     * By currency; those without a recorded rate are left out.
     * @var list<EntryWorth>
     */
    public readonly array $worth;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['type']) && $this->type = (string) $raw['type'];
        isset($raw['date']) && $this->date = (string) $raw['date'];
        isset($raw['time']) && $this->time = new \DateTimeImmutable($raw['time']);
        isset($raw['amount']) && $this->amount = (string) $raw['amount'];
        isset($raw['balance']) && $this->balance = (string) $raw['balance'];
        $this->fiatAmount = isset($raw['fiatAmount']) ? Decimal::toText($raw['fiatAmount']) : null;
        $this->fiatCurrency = isset($raw['fiatCurrency']) ? (string) $raw['fiatCurrency'] : null;
        $this->paymentId = isset($raw['paymentId']) ? (string) $raw['paymentId'] : null;
        isset($raw['reference']) && $this->reference = (string) $raw['reference'];
        $this->settlementId = isset($raw['settlementId']) ? (string) $raw['settlementId'] : null;
        $this->settlementCurrency = isset($raw['settlementCurrency']) ? (string) $raw['settlementCurrency'] : null;
        $this->inSettlementCurrency = isset($raw['inSettlementCurrency'])
            ? (string) $raw['inSettlementCurrency']
            : null;
        $this->rate = isset($raw['rate']) ? (string) $raw['rate'] : null;
        isset($raw['worth']) && $this->worth = array_map(EntryWorth::of(...), $raw['worth']);
    }
}
