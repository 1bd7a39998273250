<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class Claim extends Model
{
    /** What kind of record this is. */
    public readonly string $object;
    /** Id of the payment. */
    public readonly string $payment;
    /** Of the on-chain transaction. */
    public readonly string $transactionHash;
    /** Where it was found; else null. */
    public readonly ?string $network;
    /** The code of its most telling transfer, or of the whole. */
    public readonly string $status;
    /** The same as a sentence for people. */
    public readonly string $message;
    /** Height of its block; null while it is in none. */
    public readonly ?int $block;
    /** Null unless it came to the payment's address. */
    public readonly ?int $confirmations;
    /** How many confirmations make a transfer count. */
    public readonly int $requiredConfirmations;
    /** How many transfers it has; at most 100 of them are listed. */
    public readonly int $transferCount;
    /**
     * Every transfer in it that is of interest to the payment.
     * @var list<ClaimTransfer>
     */
    public readonly array $transfers;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['object']) && $this->object = (string) $raw['object'];
        isset($raw['payment']) && $this->payment = (string) $raw['payment'];
        isset($raw['transactionHash']) && $this->transactionHash = (string) $raw['transactionHash'];
        $this->network = isset($raw['network']) ? (string) $raw['network'] : null;
        isset($raw['status']) && $this->status = (string) $raw['status'];
        isset($raw['message']) && $this->message = (string) $raw['message'];
        $this->block = isset($raw['block']) ? (int) $raw['block'] : null;
        $this->confirmations = isset($raw['confirmations']) ? (int) $raw['confirmations'] : null;
        isset($raw['requiredConfirmations']) && $this->requiredConfirmations = (int) $raw['requiredConfirmations'];
        isset($raw['transferCount']) && $this->transferCount = (int) $raw['transferCount'];
        isset($raw['transfers']) && $this->transfers = array_map(ClaimTransfer::of(...), $raw['transfers']);
    }
}
