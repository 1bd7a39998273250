<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Enum;

/** Values as the API writes them. There may be others: this version knows these. */
final class PaymentStatusReason
{
    public const UNDERPAID = 'underpaid';
    public const OVERPAID = 'overpaid';
    public const LATE = 'late';
    public const WRONG_TOKEN = 'wrong_token';
    public const WRONG_NETWORK = 'wrong_network';
    public const REVERSED = 'reversed';
    public const COINS_MISSING = 'coins_missing';
    public const COINS_LOST = 'coins_lost';
    public const REVIEW = 'review';
    public const TOKEN_FEE = 'token_fee';
}
