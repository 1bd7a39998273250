<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Enum;

/** Values as the API writes them. There may be others: this version knows these. */
final class RefundHoldReason
{
    public const APPROVAL = 'approval';
    public const OVER_LIMIT = 'over_limit';
    public const DAILY_LIMIT = 'daily_limit';
    public const MERCHANT_LIMIT = 'merchant_limit';
    public const INSUFFICIENT_LIQUIDITY = 'insufficient_liquidity';
    public const REFILL_NEEDED = 'refill_needed';
    public const COIN_PAUSED = 'coin_paused';
    public const HOT_WALLET_BLOCKED = 'hot_wallet_blocked';
    public const NO_TRUSTLINE = 'no_trustline';
    public const NETWORK_UNAVAILABLE = 'network_unavailable';
    public const NOT_SIGNED = 'not_signed';
    public const PAYOUTS_STOPPED = 'payouts_stopped';
    public const HELD_FOR_REVIEW = 'held_for_review';
    public const FEES_ABOVE_CAP = 'fees_above_cap';
}
