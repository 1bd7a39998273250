<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Event;

use Ballast\Model\Payment;

/**
 * Enough is confirmed. Deliver goods on this event.
 *
 * @extends Event<Payment>
 */
final class PaymentCompletedEvent extends Event
{
    protected const RECORD = Payment::class;
}
