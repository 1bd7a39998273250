<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class MonthAccount extends Model
{
    /** `balance` is yours, less what you owe; `held` while coins are missing; `suspense` waits for you. */
    public readonly string $account;
    /** The network it is on. */
    public readonly string $network;
    /** The coin. */
    public readonly string $cryptocurrency;
    /** At the beginning of the month. */
    public readonly string $openingBalance;
    /**
     * What changed it, oldest first.
     * @var list<MonthEntry>
     */
    public readonly array $entries;
    /** Opening balance + entries, to the last digit. */
    public readonly string $closingBalance;
    /**
     * What it all was worth, at recorded rates.
     * @var list<Valuation>
     */
    public readonly array $valuations;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['account']) && $this->account = (string) $raw['account'];
        isset($raw['network']) && $this->network = (string) $raw['network'];
        isset($raw['cryptocurrency']) && $this->cryptocurrency = (string) $raw['cryptocurrency'];
        isset($raw['openingBalance']) && $this->openingBalance = (string) $raw['openingBalance'];
        isset($raw['entries']) && $this->entries = array_map(MonthEntry::of(...), $raw['entries']);
        isset($raw['closingBalance']) && $this->closingBalance = (string) $raw['closingBalance'];
        isset($raw['valuations']) && $this->valuations = array_map(Valuation::of(...), $raw['valuations']);
    }
}
