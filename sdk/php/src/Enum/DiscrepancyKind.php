<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Enum;

/** Values as the API writes them. There may be others: this version knows these. */
final class DiscrepancyKind
{
    public const LATE = 'late';
    public const OVERPAID = 'overpaid';
    public const UNDERPAID = 'underpaid';
    public const WRONG_TOKEN = 'wrong_token';
    public const WRONG_NETWORK = 'wrong_network';
    public const NO_MEMO = 'no_memo';
    public const UNASKED = 'unasked';
    public const REVIEW = 'review';
}
