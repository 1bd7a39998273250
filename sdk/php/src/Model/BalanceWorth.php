<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class BalanceWorth extends Model
{
    /** At the rate. */
    public readonly string $amount;
    /** What one of the coin was worth. */
    public readonly string $rate;
    /** Where it is from; null for the coin itself. */
    public readonly ?string $rateSource;
    /** When it was recorded. */
    public readonly \DateTimeImmutable $ratedAt;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['amount']) && $this->amount = (string) $raw['amount'];
        isset($raw['rate']) && $this->rate = (string) $raw['rate'];
        $this->rateSource = isset($raw['rateSource']) ? (string) $raw['rateSource'] : null;
        isset($raw['ratedAt']) && $this->ratedAt = new \DateTimeImmutable($raw['ratedAt']);
    }
}
