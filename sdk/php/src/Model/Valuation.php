<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class Valuation extends Model
{
    /** Your settlement currency, or the currency that was asked for. */
    public readonly string $currency;
    /** Null when no rate was recorded for it. */
    public readonly ?BalanceWorth $opening;
    /** The worth of those entries that have a rate. */
    public readonly string $entries;
    /** How many have none. */
    public readonly int $entriesWithoutRate;
    /** What rates alone have changed; null when a rate is missing. */
    public readonly ?string $revaluation;
    /** Null when no rate was recorded for it. */
    public readonly ?BalanceWorth $closing;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['currency']) && $this->currency = (string) $raw['currency'];
        $this->opening = isset($raw['opening']) ? BalanceWorth::of($raw['opening']) : null;
        isset($raw['entries']) && $this->entries = (string) $raw['entries'];
        isset($raw['entriesWithoutRate']) && $this->entriesWithoutRate = (int) $raw['entriesWithoutRate'];
        $this->revaluation = isset($raw['revaluation']) ? (string) $raw['revaluation'] : null;
        $this->closing = isset($raw['closing']) ? BalanceWorth::of($raw['closing']) : null;
    }
}
