<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Event;

/** The class of each type of event. */
final class EventTypes
{
    /** @var array<string, class-string<Event>> */
    public const CLASSES = [
        'payment.created' => PaymentCreatedEvent::class,
        'payment.pending' => PaymentPendingEvent::class,
        'payment.underpaid' => PaymentUnderpaidEvent::class,
        'payment.completed' => PaymentCompletedEvent::class,
        'payment.overpaid' => PaymentOverpaidEvent::class,
        'payment.expired' => PaymentExpiredEvent::class,
        'payment.late' => PaymentLateEvent::class,
        'payment.cancelled' => PaymentCancelledEvent::class,
        'payment.reversed' => PaymentReversedEvent::class,
        'payment.refunded' => PaymentRefundedEvent::class,
        'payment.updated' => PaymentUpdatedEvent::class,
        'payment.coins_missing' => PaymentCoinsMissingEvent::class,
        'payment.coins_restored' => PaymentCoinsRestoredEvent::class,
        'payment.coins_lost' => PaymentCoinsLostEvent::class,
        'refund.created' => RefundCreatedEvent::class,
        'refund.requires_action' => RefundRequiresActionEvent::class,
        'refund.pending' => RefundPendingEvent::class,
        'refund.processing' => RefundProcessingEvent::class,
        'refund.completed' => RefundCompletedEvent::class,
        'refund.failed' => RefundFailedEvent::class,
        'refund.cancelled' => RefundCancelledEvent::class,
        'settlement.created' => SettlementCreatedEvent::class,
        'settlement.completed' => SettlementCompletedEvent::class,
        'settlement.failed' => SettlementFailedEvent::class,
        'webhook.test' => WebhookTestEvent::class,
    ];
}
