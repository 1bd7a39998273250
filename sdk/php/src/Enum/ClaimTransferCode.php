<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Enum;

/** Values as the API writes them. There may be others: this version knows these. */
final class ClaimTransferCode
{
    public const MISSED = 'missed';
    public const NO_LONGER_WATCHED = 'no_longer_watched';
    public const TOO_EARLY = 'too_early';
    public const NETWORK_HALTED = 'network_halted';
    public const NOT_READ_YET = 'not_read_yet';
    public const CONFIRMING = 'confirming';
    public const AWAITING_FINALITY = 'awaiting_finality';
    public const LATE = 'late';
    public const UNDERPAID = 'underpaid';
    public const OVERPAID = 'overpaid';
    public const CREDITED = 'credited';
    public const WRONG_NETWORK = 'wrong_network';
    public const WRONG_TOKEN = 'wrong_token';
    public const UNKNOWN_TOKEN = 'unknown_token';
    public const NO_MEMO = 'no_memo';
    public const CLAIMABLE_BALANCE = 'claimable_balance';
    public const CLAWBACK = 'clawback';
    public const ACCOUNT_MERGE = 'account_merge';
    public const NATIVE_COIN = 'native_coin';
    public const ZERO_AMOUNT = 'zero_amount';
    public const OTHER_PAYMENT = 'other_payment';
    public const OTHER_MEMO = 'other_memo';
    public const OTHER_ADDRESS = 'other_address';
}
