<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Enum;

/** Values as the API writes them. There may be others: this version knows these. */
final class PaymentLinkStatus
{
    public const ACTIVE = 'active';
    public const DISABLED = 'disabled';
    public const EXPIRED = 'expired';
    public const USED_UP = 'used_up';
}
