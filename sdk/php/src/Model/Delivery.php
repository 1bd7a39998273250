<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class Delivery extends Model
{
    /** Names the record for good. */
    public readonly string $id;
    /** What kind of record this is. */
    public readonly string $object;
    /** `pending` while attempts are left, then `delivered`, `failed` or `discarded`. */
    public readonly string $status;
    /** Its id. */
    public readonly string $event;
    /** The type of the event. */
    public readonly string $eventType;
    /** The id of the webhook. */
    public readonly string $endpoint;
    /** Where it is sent. */
    public readonly string $url;
    /** How many attempts were made. */
    public readonly int $attemptCount;
    /** When the next attempt is due; null when none is. */
    public readonly ?\DateTimeImmutable $nextAttemptAt;
    /** When a 2xx came; null before. */
    public readonly ?\DateTimeImmutable $deliveredAt;
    /** Where it was made: with test keys in the sandbox, with live keys in production. */
    public readonly string $environment;
    /** When it was made. */
    public readonly \DateTimeImmutable $createdAt;
    /**
     * Kept for 60 days.
     * @var list<Attempt>
     */
    public readonly array $attempts;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['id']) && $this->id = (string) $raw['id'];
        isset($raw['object']) && $this->object = (string) $raw['object'];
        isset($raw['status']) && $this->status = (string) $raw['status'];
        isset($raw['event']) && $this->event = (string) $raw['event'];
        isset($raw['eventType']) && $this->eventType = (string) $raw['eventType'];
        isset($raw['endpoint']) && $this->endpoint = (string) $raw['endpoint'];
        isset($raw['url']) && $this->url = (string) $raw['url'];
        isset($raw['attemptCount']) && $this->attemptCount = (int) $raw['attemptCount'];
        $this->nextAttemptAt = isset($raw['nextAttemptAt']) ? new \DateTimeImmutable($raw['nextAttemptAt']) : null;
        $this->deliveredAt = isset($raw['deliveredAt']) ? new \DateTimeImmutable($raw['deliveredAt']) : null;
        isset($raw['environment']) && $this->environment = (string) $raw['environment'];
        isset($raw['createdAt']) && $this->createdAt = new \DateTimeImmutable($raw['createdAt']);
        isset($raw['attempts']) && $this->attempts = array_map(Attempt::of(...), $raw['attempts']);
    }
}
