<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class StatementConversion extends Model
{
    /** The other coin. */
    public readonly string $cryptocurrency;
    /** Price of one converted coin in the settlement currency, decimal. */
    public readonly string $rate;
    /** Where the rate is from. */
    public readonly string $source;
    /** When the rate was read. */
    public readonly \DateTimeImmutable $quotedAt;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['cryptocurrency']) && $this->cryptocurrency = (string) $raw['cryptocurrency'];
        isset($raw['rate']) && $this->rate = (string) $raw['rate'];
        isset($raw['source']) && $this->source = (string) $raw['source'];
        isset($raw['quotedAt']) && $this->quotedAt = new \DateTimeImmutable($raw['quotedAt']);
    }
}
