<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class EntryWorth extends Model
{
    /** Your settlement currency, or the currency that was asked for. */
    public readonly string $currency;
    /** At the rate of its day. */
    public readonly string $amount;
    /** What one of the coin was worth. */
    public readonly string $rate;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['currency']) && $this->currency = (string) $raw['currency'];
        isset($raw['amount']) && $this->amount = (string) $raw['amount'];
        isset($raw['rate']) && $this->rate = (string) $raw['rate'];
    }
}
