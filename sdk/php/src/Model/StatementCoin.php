<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class StatementCoin extends Model
{
    /** The coin. */
    public readonly string $cryptocurrency;
    /**
     * From before the period, not settled then: what the opening balance is made of.
     * @var list<StatementEntry>
     */
    public readonly array $carriedOver;
    /** What the period began with: decimal. */
    public readonly string $openingBalance;
    /**
     * What happened in the period, oldest first.
     * @var list<StatementEntry>
     */
    public readonly array $entries;
    /** The opening balance and the amounts of all entries, exactly. */
    public readonly string $closingBalance;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['cryptocurrency']) && $this->cryptocurrency = (string) $raw['cryptocurrency'];
        isset($raw['carriedOver']) && $this->carriedOver = array_map(StatementEntry::of(...), $raw['carriedOver']);
        isset($raw['openingBalance']) && $this->openingBalance = (string) $raw['openingBalance'];
        isset($raw['entries']) && $this->entries = array_map(StatementEntry::of(...), $raw['entries']);
        isset($raw['closingBalance']) && $this->closingBalance = (string) $raw['closingBalance'];
    }
}
