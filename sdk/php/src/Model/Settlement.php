<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class Settlement extends Model
{
    /** Names the record for good. */
    public readonly string $id;
    /** What kind of record this is. */
    public readonly string $object;
    /** `pending` until it is final on its network, then `completed`, or `failed`. */
    public readonly string $status;
    /** The coin it is paid in. */
    public readonly string $settlementCurrency;
    /** The network it is on. */
    public readonly string $network;
    /** The wallet it is paid to. */
    public readonly string $destination;
    /**
     * What came in and no reorganisation undid, in the settlement currency; an estimate until everything is converted.
     */
    public readonly string $grossAmount;
    /** Below zero when the fee of what was undone is given back. */
    public readonly string $feeAmount;
    /** Refunds and whatever else came off, `debtAmount` included. */
    public readonly string $refundAmount;
    /** The part of `refundAmount` that repaid what you owed in other coins or on other networks. */
    public readonly string $debtAmount;
    /** What is paid: gross less fee less refunds, exactly. Six digits or more. */
    public readonly string $amount;
    /** What the token itself kept of it on the way, as some may; zero until it is completed. */
    public readonly string $tokenFee;
    /** What arrived, by the receipt of the on-chain transaction; null until then. */
    public readonly ?string $receivedAmount;
    /** How many payments are in it. */
    public readonly int $paymentCount;
    /**
     * By coin: the price of one in the settlement currency. Null when nothing has to be converted, and while it is an
     * estimate: see `rateMoment`.
     * @var array<string, ExchangeRate>|null
     */
    public readonly ?array $exchangeRate;
    /**
     * The operator's policy: other coins are converted at the rate of the moment the settlement is paid, so that a move
     * of the rate until then is yours, or of the moment it is made, so that it is the operator's.
     */
    public readonly string $rateMoment;
    /** The beginning of the time that is settled. */
    public readonly \DateTimeImmutable $periodStart;
    /** What happened before it is settled. */
    public readonly \DateTimeImmutable $periodEnd;
    /** The time of the schedule it was made for. */
    public readonly \DateTimeImmutable $scheduledFor;
    /** Of the on-chain transaction that paid it. */
    public readonly ?string $transactionHash;
    /**
     * On stellar, where the wallet could not take the coin for days and the operator sets money aside then: the
     * claimable balance that it became, which the wallet collects. Null for a settlement that was paid.
     */
    public readonly ?string $claimableBalanceId;
    /** Why it waits, or has failed. */
    public readonly ?string $failureCode;
    /** Why it failed, for people; null unless it did. */
    public readonly ?string $failureMessage;
    /** Where it was made: with test keys in the sandbox, with live keys in production. */
    public readonly string $environment;
    /** When it was made. */
    public readonly \DateTimeImmutable $createdAt;
    /** When it was completed; null before. */
    public readonly ?\DateTimeImmutable $completedAt;
    /** Grows with every change that an event tells of. */
    public readonly int $version;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['id']) && $this->id = (string) $raw['id'];
        isset($raw['object']) && $this->object = (string) $raw['object'];
        isset($raw['status']) && $this->status = (string) $raw['status'];
        isset($raw['settlementCurrency']) && $this->settlementCurrency = (string) $raw['settlementCurrency'];
        isset($raw['network']) && $this->network = (string) $raw['network'];
        isset($raw['destination']) && $this->destination = (string) $raw['destination'];
        isset($raw['grossAmount']) && $this->grossAmount = (string) $raw['grossAmount'];
        isset($raw['feeAmount']) && $this->feeAmount = (string) $raw['feeAmount'];
        isset($raw['refundAmount']) && $this->refundAmount = (string) $raw['refundAmount'];
        isset($raw['debtAmount']) && $this->debtAmount = (string) $raw['debtAmount'];
        isset($raw['amount']) && $this->amount = (string) $raw['amount'];
        isset($raw['tokenFee']) && $this->tokenFee = (string) $raw['tokenFee'];
        $this->receivedAmount = isset($raw['receivedAmount']) ? (string) $raw['receivedAmount'] : null;
        isset($raw['paymentCount']) && $this->paymentCount = (int) $raw['paymentCount'];
        $this->exchangeRate = isset($raw['exchangeRate'])
            ? array_map(ExchangeRate::of(...), $raw['exchangeRate'])
            : null;
        isset($raw['rateMoment']) && $this->rateMoment = (string) $raw['rateMoment'];
        isset($raw['periodStart']) && $this->periodStart = new \DateTimeImmutable($raw['periodStart']);
        isset($raw['periodEnd']) && $this->periodEnd = new \DateTimeImmutable($raw['periodEnd']);
        isset($raw['scheduledFor']) && $this->scheduledFor = new \DateTimeImmutable($raw['scheduledFor']);
        $this->transactionHash = isset($raw['transactionHash']) ? (string) $raw['transactionHash'] : null;
        $this->claimableBalanceId = isset($raw['claimableBalanceId']) ? (string) $raw['claimableBalanceId'] : null;
        $this->failureCode = isset($raw['failureCode']) ? (string) $raw['failureCode'] : null;
        $this->failureMessage = isset($raw['failureMessage']) ? (string) $raw['failureMessage'] : null;
        isset($raw['environment']) && $this->environment = (string) $raw['environment'];
        isset($raw['createdAt']) && $this->createdAt = new \DateTimeImmutable($raw['createdAt']);
        $this->completedAt = isset($raw['completedAt']) ? new \DateTimeImmutable($raw['completedAt']) : null;
        isset($raw['version']) && $this->version = (int) $raw['version'];
    }
}
