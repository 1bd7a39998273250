<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class PaymentTransfer extends Model
{
    /** Names the record for good. */
    public readonly string $id;
    /** What kind of record this is. */
    public readonly string $object;
    /** Of the on-chain transaction. */
    public readonly string $hash;
    /** Decimal, with every digit that was sent: six or more. */
    public readonly string $amount;
    /** The coin. */
    public readonly string $cryptocurrency;
    /** The network it is on. */
    public readonly string $network;
    /** `seen` until it has its confirmations, then `credited`; `orphaned` when a reorganisation undid it. */
    public readonly string $status;
    /** Height of its block, or number of its ledger. */
    public readonly int $block;
    /** How much of it has vanished from the network since, as when an issuer destroys it. */
    public readonly ?string $missing;
    /**
     * On stellar: the memo of the on-chain transaction, where the muxed address it was sent to says otherwise. The
     * muxed address counts; ask the payer for which payment it was meant.
     */
    public readonly ?string $conflictingMemo;
    /** When it was first seen. */
    public readonly \DateTimeImmutable $seenAt;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['id']) && $this->id = (string) $raw['id'];
        isset($raw['object']) && $this->object = (string) $raw['object'];
        isset($raw['hash']) && $this->hash = (string) $raw['hash'];
        isset($raw['amount']) && $this->amount = (string) $raw['amount'];
        isset($raw['cryptocurrency']) && $this->cryptocurrency = (string) $raw['cryptocurrency'];
        isset($raw['network']) && $this->network = (string) $raw['network'];
        isset($raw['status']) && $this->status = (string) $raw['status'];
        isset($raw['block']) && $this->block = (int) $raw['block'];
        $this->missing = isset($raw['missing']) ? (string) $raw['missing'] : null;
        $this->conflictingMemo = isset($raw['conflictingMemo']) ? (string) $raw['conflictingMemo'] : null;
        isset($raw['seenAt']) && $this->seenAt = new \DateTimeImmutable($raw['seenAt']);
    }
}
