<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Enum;

/** Values as the API writes them. There may be others: this version knows these. */
final class Scenario
{
    public const EXACT = 'exact';
    public const UNDERPAID = 'underpaid';
    public const OVERPAID = 'overpaid';
    public const TWO_PARTS = 'two_parts';
    public const LATE = 'late';
    public const WRONG_TOKEN = 'wrong_token';
    public const WRONG_NETWORK = 'wrong_network';
    public const TWO_TRANSFERS = 'two_transfers';
    public const REORG = 'reorg';
    public const OUTAGE = 'outage';
    public const MISSING_MEMO = 'missing_memo';
    public const FROM_EXCHANGE = 'from_exchange';
    public const MEMO_CONFLICT = 'memo_conflict';
}
