<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Enum;

/** Values as the API writes them. There may be others: this version knows these. */
final class StatementEntryType
{
    public const PAYMENT = 'payment';
    public const REVERSAL = 'reversal';
    public const ACCEPTED = 'accepted';
    public const REFUND = 'refund';
    public const REFUND_FAILED = 'refund_failed';
    public const SETTLEMENT_FAILED = 'settlement_failed';
    public const SETTLED_AHEAD = 'settled_ahead';
    public const MISSING = 'missing';
    public const MISSING_ENDED = 'missing_ended';
    public const LOSS = 'loss';
    public const DEBT_OFFSET = 'debt_offset';
    public const DEBT_REPAID = 'debt_repaid';
    public const DEBT_WRITTEN_OFF = 'debt_written_off';
    public const DEBT_COLLECTED = 'debt_collected';
    public const DEBT_OWED_AGAIN = 'debt_owed_again';
    public const FEE = 'fee';
    public const CONVERSION = 'conversion';
    public const SETTLEMENT = 'settlement';
}
