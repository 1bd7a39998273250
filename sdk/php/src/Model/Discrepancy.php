<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class Discrepancy extends Model
{
    /** Names the record for good. */
    public readonly string $id;
    /** What kind of record this is. */
    public readonly string $object;
    /** Id of the payment. */
    public readonly string $paymentId;
    /** Why the money waits. */
    public readonly string $kind;
    /** `open` until it is accepted or refunded. */
    public readonly string $status;
    /** Decimal, six fractional digits or more. */
    public readonly string $amount;
    /** The coin that came. */
    public readonly string $cryptocurrency;
    /** Where it came. */
    public readonly string $network;
    /** What was written when it was accepted. */
    public readonly ?string $note;
    /** When it was made. */
    public readonly \DateTimeImmutable $createdAt;
    /** When somebody decided, or a reorganisation did. */
    public readonly ?\DateTimeImmutable $resolvedAt;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['id']) && $this->id = (string) $raw['id'];
        isset($raw['object']) && $this->object = (string) $raw['object'];
        isset($raw['paymentId']) && $this->paymentId = (string) $raw['paymentId'];
        isset($raw['kind']) && $this->kind = (string) $raw['kind'];
        isset($raw['status']) && $this->status = (string) $raw['status'];
        isset($raw['amount']) && $this->amount = (string) $raw['amount'];
        isset($raw['cryptocurrency']) && $this->cryptocurrency = (string) $raw['cryptocurrency'];
        isset($raw['network']) && $this->network = (string) $raw['network'];
        $this->note = isset($raw['note']) ? (string) $raw['note'] : null;
        isset($raw['createdAt']) && $this->createdAt = new \DateTimeImmutable($raw['createdAt']);
        $this->resolvedAt = isset($raw['resolvedAt']) ? new \DateTimeImmutable($raw['resolvedAt']) : null;
    }
}
