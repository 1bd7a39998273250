<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class TimelineEntry extends Model
{
    /** Of the event. */
    public readonly string $id;
    /** What kind of record this is. */
    public readonly string $object;
    /** The type of the event. */
    public readonly string $type;
    /** The payment's version at this event. */
    public readonly int $version;
    /** The payment's status at this event. */
    public readonly string $status;
    /** What had been received by then: decimal. */
    public readonly string $amountReceived;
    /** When it was made. */
    public readonly \DateTimeImmutable $createdAt;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['id']) && $this->id = (string) $raw['id'];
        isset($raw['object']) && $this->object = (string) $raw['object'];
        isset($raw['type']) && $this->type = (string) $raw['type'];
        isset($raw['version']) && $this->version = (int) $raw['version'];
        isset($raw['status']) && $this->status = (string) $raw['status'];
        isset($raw['amountReceived']) && $this->amountReceived = (string) $raw['amountReceived'];
        isset($raw['createdAt']) && $this->createdAt = new \DateTimeImmutable($raw['createdAt']);
    }
}
