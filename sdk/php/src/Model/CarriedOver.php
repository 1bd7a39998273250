<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class CarriedOver extends Model
{
    /** The network it is on. */
    public readonly string $network;
    /** The wallet that is paid. */
    public readonly string $destination;
    /** The coin. */
    public readonly string $cryptocurrency;
    /** Negative when it is owed. */
    public readonly string $amount;
    /** Why it waits for a later settlement, for programs. */
    public readonly string $reason;
    /** The same as a sentence for people. */
    public readonly string $message;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['network']) && $this->network = (string) $raw['network'];
        isset($raw['destination']) && $this->destination = (string) $raw['destination'];
        isset($raw['cryptocurrency']) && $this->cryptocurrency = (string) $raw['cryptocurrency'];
        isset($raw['amount']) && $this->amount = (string) $raw['amount'];
        isset($raw['reason']) && $this->reason = (string) $raw['reason'];
        isset($raw['message']) && $this->message = (string) $raw['message'];
    }
}
