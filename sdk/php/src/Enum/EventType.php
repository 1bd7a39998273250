<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Enum;

/** Values as the API writes them. There may be others: this version knows these. */
final class EventType
{
    public const PAYMENT_CREATED = 'payment.created';
    public const PAYMENT_PENDING = 'payment.pending';
    public const PAYMENT_UNDERPAID = 'payment.underpaid';
    public const PAYMENT_COMPLETED = 'payment.completed';
    public const PAYMENT_OVERPAID = 'payment.overpaid';
    public const PAYMENT_EXPIRED = 'payment.expired';
    public const PAYMENT_LATE = 'payment.late';
    public const PAYMENT_CANCELLED = 'payment.cancelled';
    public const PAYMENT_REVERSED = 'payment.reversed';
    public const PAYMENT_REFUNDED = 'payment.refunded';
    public const PAYMENT_UPDATED = 'payment.updated';
    public const PAYMENT_COINS_MISSING = 'payment.coins_missing';
    public const PAYMENT_COINS_RESTORED = 'payment.coins_restored';
    public const PAYMENT_COINS_LOST = 'payment.coins_lost';
    public const REFUND_CREATED = 'refund.created';
    public const REFUND_REQUIRES_ACTION = 'refund.requires_action';
    public const REFUND_PENDING = 'refund.pending';
    public const REFUND_PROCESSING = 'refund.processing';
    public const REFUND_COMPLETED = 'refund.completed';
    public const REFUND_FAILED = 'refund.failed';
    public const REFUND_CANCELLED = 'refund.cancelled';
    public const SETTLEMENT_CREATED = 'settlement.created';
    public const SETTLEMENT_COMPLETED = 'settlement.completed';
    public const SETTLEMENT_FAILED = 'settlement.failed';
    public const WEBHOOK_TEST = 'webhook.test';
}
