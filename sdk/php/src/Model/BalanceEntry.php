<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class BalanceEntry extends Model
{
    /** The network it is on. */
    public readonly string $network;
    /** The coin. */
    public readonly string $cryptocurrency;
    /** Yours, to be refunded from or settled: decimal, six fractional digits or more. */
    public readonly string $available;
    /** What you owe: credited and spent before a chain took the payment back. Decimal. */
    public readonly string $receivable;
    /**
     * Arrived late, short, in surplus, or in the wrong coin or network, and waits for your decision: not yours yet.
     * Decimal.
     */
    public readonly string $inSuspense;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['network']) && $this->network = (string) $raw['network'];
        isset($raw['cryptocurrency']) && $this->cryptocurrency = (string) $raw['cryptocurrency'];
        isset($raw['available']) && $this->available = (string) $raw['available'];
        isset($raw['receivable']) && $this->receivable = (string) $raw['receivable'];
        isset($raw['inSuspense']) && $this->inSuspense = (string) $raw['inSuspense'];
    }
}
