<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class StatementDebtOffset extends Model
{
    /** The coin. */
    public readonly string $cryptocurrency;
    /** The network it is on. */
    public readonly string $network;
    /** What the debt lost or, of a debt that was repaid, what was taken for it. */
    public readonly string $amount;
    /** What one of the coin taken is worth in the coin owed; 1 for the same coin. */
    public readonly string $rate;
    /** Where the rate is from; null for the same coin. */
    public readonly ?string $source;
    /** When the rate was read. */
    public readonly ?\DateTimeImmutable $quotedAt;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['cryptocurrency']) && $this->cryptocurrency = (string) $raw['cryptocurrency'];
        isset($raw['network']) && $this->network = (string) $raw['network'];
        isset($raw['amount']) && $this->amount = (string) $raw['amount'];
        isset($raw['rate']) && $this->rate = (string) $raw['rate'];
        $this->source = isset($raw['source']) ? (string) $raw['source'] : null;
        $this->quotedAt = isset($raw['quotedAt']) ? new \DateTimeImmutable($raw['quotedAt']) : null;
    }
}
