<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class InvoiceLine extends Model
{
    /** The network it is on. */
    public readonly string $network;
    /** The coin. */
    public readonly string $cryptocurrency;
    /** The fees in the coin. */
    public readonly string $amount;
    /** What one coin was worth in the invoice's currency when it was issued. */
    public readonly string $rate;
    /** Where the rate is from. */
    public readonly string $rateSource;
    /** When the rate was true. */
    public readonly \DateTimeImmutable $ratedAt;
    /** Amount × rate; the lines add up to `netAmount`. */
    public readonly string $net;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['network']) && $this->network = (string) $raw['network'];
        isset($raw['cryptocurrency']) && $this->cryptocurrency = (string) $raw['cryptocurrency'];
        isset($raw['amount']) && $this->amount = (string) $raw['amount'];
        isset($raw['rate']) && $this->rate = (string) $raw['rate'];
        isset($raw['rateSource']) && $this->rateSource = (string) $raw['rateSource'];
        isset($raw['ratedAt']) && $this->ratedAt = new \DateTimeImmutable($raw['ratedAt']);
        isset($raw['net']) && $this->net = (string) $raw['net'];
    }
}
