<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Decimal;
use Ballast\Model;

final class Refund extends Model
{
    protected const SECRETS = ['claimUrl'];

    /** Names the record for good. */
    public readonly string $id;
    /** What kind of record this is. */
    public readonly string $object;
    /** Id of the payment. */
    public readonly string $paymentId;
    /** The discrepancy that is refunded. */
    public readonly ?string $discrepancyId;
    /** In the currency, at the original quote: an exact decimal number. Null for a coin nobody quoted. */
    public readonly ?string $amount;
    /** The payment's. */
    public readonly string $currency;
    /** What is sent: decimal, six fractional digits; more where all that is left is sent. */
    public readonly string $cryptoAmount;
    /** What the token itself kept of it on the way, as some may; zero until it is completed. */
    public readonly string $tokenFee;
    /** What arrived, by the receipt of the on-chain transaction; null until then. */
    public readonly ?string $receivedAmount;
    /**
     * Whether your next settlement returns the fee on the refunded amount, by the operator's policy when the refund was
     * created. False for a discrepancy, on which no fee is taken.
     */
    public readonly bool $returnsFee;
    /** The coin. */
    public readonly string $cryptocurrency;
    /** The network it is on. */
    public readonly string $network;
    /** Null while nobody has named one. */
    public readonly ?string $destination;
    /** The memo beside the address, on stellar; null without one. */
    public readonly ?string $memo;
    /** How the memo is sent; null without one. */
    public readonly ?string $memoType;
    /**
     * `requires_action` until its address is known, then `pending`, `processing`, and `completed` or `failed`;
     * `cancelled` when you ended it.
     */
    public readonly string $status;
    /**
     * While an address is needed: the page on which the payer gives one. Good for 30 days and one address. Shown to
     * keys that may write refunds, and in no event: whoever opens it says where the money goes.
     */
    public readonly ?string $claimUrl;
    /** Why, in your own words. */
    public readonly ?string $reason;
    /** Of the on-chain transaction, once it is final. */
    public readonly ?string $transactionHash;
    /**
     * On stellar, where the account could not take the coin for days and the operator sets money aside then: the
     * claimable balance that the recipient has to claim. Null for a refund that was paid.
     */
    public readonly ?string $claimableBalanceId;
    /** Why it has not left yet, while something holds it. */
    public readonly ?string $holdReason;
    /** Why it failed, for programs; null unless it did. */
    public readonly ?string $failureCode;
    /** Why it failed, for people; null unless it did. */
    public readonly ?string $failureMessage;
    /**
     * Your own JSON object, as you sent it.
     * @var array<string, mixed>
     */
    public readonly array $metadata;
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
        isset($raw['paymentId']) && $this->paymentId = (string) $raw['paymentId'];
        $this->discrepancyId = isset($raw['discrepancyId']) ? (string) $raw['discrepancyId'] : null;
        $this->amount = isset($raw['amount']) ? Decimal::toText($raw['amount']) : null;
        isset($raw['currency']) && $this->currency = (string) $raw['currency'];
        isset($raw['cryptoAmount']) && $this->cryptoAmount = (string) $raw['cryptoAmount'];
        isset($raw['tokenFee']) && $this->tokenFee = (string) $raw['tokenFee'];
        $this->receivedAmount = isset($raw['receivedAmount']) ? (string) $raw['receivedAmount'] : null;
        isset($raw['returnsFee']) && $this->returnsFee = (bool) $raw['returnsFee'];
        isset($raw['cryptocurrency']) && $this->cryptocurrency = (string) $raw['cryptocurrency'];
        isset($raw['network']) && $this->network = (string) $raw['network'];
        $this->destination = isset($raw['destination']) ? (string) $raw['destination'] : null;
        $this->memo = isset($raw['memo']) ? (string) $raw['memo'] : null;
        $this->memoType = isset($raw['memoType']) ? (string) $raw['memoType'] : null;
        isset($raw['status']) && $this->status = (string) $raw['status'];
        $this->claimUrl = isset($raw['claimUrl']) ? (string) $raw['claimUrl'] : null;
        $this->reason = isset($raw['reason']) ? (string) $raw['reason'] : null;
        $this->transactionHash = isset($raw['transactionHash']) ? (string) $raw['transactionHash'] : null;
        $this->claimableBalanceId = isset($raw['claimableBalanceId']) ? (string) $raw['claimableBalanceId'] : null;
        $this->holdReason = isset($raw['holdReason']) ? (string) $raw['holdReason'] : null;
        $this->failureCode = isset($raw['failureCode']) ? (string) $raw['failureCode'] : null;
        $this->failureMessage = isset($raw['failureMessage']) ? (string) $raw['failureMessage'] : null;
        isset($raw['metadata']) && $this->metadata = $raw['metadata'];
        isset($raw['environment']) && $this->environment = (string) $raw['environment'];
        isset($raw['createdAt']) && $this->createdAt = new \DateTimeImmutable($raw['createdAt']);
        $this->completedAt = isset($raw['completedAt']) ? new \DateTimeImmutable($raw['completedAt']) : null;
        isset($raw['version']) && $this->version = (int) $raw['version'];
    }
}
