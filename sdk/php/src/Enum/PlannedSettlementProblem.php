<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Enum;

/** Values as the API writes them. There may be others: this version knows these. */
final class PlannedSettlementProblem
{
    public const INSUFFICIENT_LIQUIDITY = 'insufficient_liquidity';
    public const OVER_LIMIT = 'over_limit';
    public const RATE_UNAVAILABLE = 'rate_unavailable';
    public const CURRENCY_UNAVAILABLE = 'currency_unavailable';
    public const NETWORK_UNAVAILABLE = 'network_unavailable';
    public const COIN_PAUSED = 'coin_paused';
    public const HOT_WALLET_BLOCKED = 'hot_wallet_blocked';
    public const DESTINATION_INVALID = 'destination_invalid';
    public const NO_TRUSTLINE = 'no_trustline';
    public const MEMO_REQUIRED = 'memo_required';
    public const DESTINATION_REFUSED = 'destination_refused';
    public const TRANSFER_FAILED = 'transfer_failed';
    public const REJECTED = 'rejected';
    public const WALLET_LOST = 'wallet_lost';
}
