<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Event;

use Ballast\Model\Payment;

/**
 * Money for a payment was seen on its network and waits for confirmations.
 *
 * @extends Event<Payment>
 */
final class PaymentPendingEvent extends Event
{
    protected const RECORD = Payment::class;
}
