<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class Attempt extends Model
{
    /** Counts the attempts of a delivery, from 1. */
    public readonly int $number;
    /** `succeeded` for a reply of 2xx. */
    public readonly string $status;
    /** Null when there was no reply. */
    public readonly ?int $statusCode;
    /** From the look-up of the name to the last byte, in milliseconds. */
    public readonly int $durationMs;
    /** Why there was no reply, or why it is no success; else null. */
    public readonly ?string $error;
    /** When it began. */
    public readonly \DateTimeImmutable $startedAt;
    /** The beginning of the reply's body. */
    public readonly string $reply;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['number']) && $this->number = (int) $raw['number'];
        isset($raw['status']) && $this->status = (string) $raw['status'];
        $this->statusCode = isset($raw['statusCode']) ? (int) $raw['statusCode'] : null;
        isset($raw['durationMs']) && $this->durationMs = (int) $raw['durationMs'];
        $this->error = isset($raw['error']) ? (string) $raw['error'] : null;
        isset($raw['startedAt']) && $this->startedAt = new \DateTimeImmutable($raw['startedAt']);
        isset($raw['reply']) && $this->reply = (string) $raw['reply'];
    }
}
