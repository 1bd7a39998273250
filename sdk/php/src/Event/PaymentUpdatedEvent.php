<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Event;

use Ballast\Model\Payment;

/**
 * A payment changed and no other event says so: more was received, money was reserved for a refund or came back from
 * one, the time of an underpaid payment ended, a reason was added or removed, or somebody changed its description, note
 * or metadata.
 *
 * @extends Event<Payment>
 */
final class PaymentUpdatedEvent extends Event
{
    protected const RECORD = Payment::class;
}
