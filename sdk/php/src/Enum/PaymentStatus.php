<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Enum;

/** Values as the API writes them. There may be others: this version knows these. */
final class PaymentStatus
{
    public const CREATED = 'created';
    public const PENDING = 'pending';
    public const UNDERPAID = 'underpaid';
    public const COMPLETED = 'completed';
    public const PARTIALLY_REFUNDED = 'partially_refunded';
    public const REFUNDED = 'refunded';
    public const EXPIRED = 'expired';
    public const CANCELLED = 'cancelled';
}
