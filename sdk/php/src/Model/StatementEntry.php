<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Decimal;
use Ballast\Model;

final class StatementEntry extends Model
{
    /** What happened. */
    public readonly string $type;
    /** When it happened. */
    public readonly \DateTimeImmutable $time;
    /** Signed, with every digit of the coin. */
    public readonly string $amount;
    /** Of the coin, after this entry. */
    public readonly string $balance;
    /** Id of what it was for. */
    public readonly string $reference;
    /** Id of the payment. */
    public readonly ?string $paymentId;
    /** Id of the refund, where it is one. */
    public readonly ?string $refundId;
    /** The wallet of the payment. */
    public readonly ?string $wallet;
    /** What that was worth when the payment was quoted: a refund its share of it. */
    public readonly ?string $fiatAmount;
    /** Currency of the payment's price. */
    public readonly ?string $fiatCurrency;
    /** How it was turned into the settlement's coin; null when it was in that coin already. */
    public readonly ?StatementConversion $conversion;
    /** Of the on-chain transaction. */
    public readonly ?string $transactionHash;
    /** Of a refund or settlement: what the token kept, so that so much less arrived. */
    public readonly ?string $tokenFee;
    /** Of a refund or settlement: the claimable balance that it was set aside as. */
    public readonly ?string $claimableBalanceId;
    /** The other side of a line `debt_offset` or `debt_repaid`; null for others. */
    public readonly ?StatementDebtOffset $debtOffset;
    /** Of a refund, or one that came back: whether the fee on it is given back, or taken again. Null for others. */
    public readonly ?bool $returnsFee;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['type']) && $this->type = (string) $raw['type'];
        isset($raw['time']) && $this->time = new \DateTimeImmutable($raw['time']);
        isset($raw['amount']) && $this->amount = (string) $raw['amount'];
        isset($raw['balance']) && $this->balance = (string) $raw['balance'];
        isset($raw['reference']) && $this->reference = (string) $raw['reference'];
        $this->paymentId = isset($raw['paymentId']) ? (string) $raw['paymentId'] : null;
        $this->refundId = isset($raw['refundId']) ? (string) $raw['refundId'] : null;
        $this->wallet = isset($raw['wallet']) ? (string) $raw['wallet'] : null;
        $this->fiatAmount = isset($raw['fiatAmount']) ? Decimal::toText($raw['fiatAmount']) : null;
        $this->fiatCurrency = isset($raw['fiatCurrency']) ? (string) $raw['fiatCurrency'] : null;
        $this->conversion = isset($raw['conversion']) ? StatementConversion::of($raw['conversion']) : null;
        $this->transactionHash = isset($raw['transactionHash']) ? (string) $raw['transactionHash'] : null;
        $this->tokenFee = isset($raw['tokenFee']) ? (string) $raw['tokenFee'] : null;
        $this->claimableBalanceId = isset($raw['claimableBalanceId']) ? (string) $raw['claimableBalanceId'] : null;
        $this->debtOffset = isset($raw['debtOffset']) ? StatementDebtOffset::of($raw['debtOffset']) : null;
        $this->returnsFee = isset($raw['returnsFee']) ? (bool) $raw['returnsFee'] : null;
    }
}
