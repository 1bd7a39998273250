<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Event;

use Ballast\Model\Payment;

/**
 * A reorganisation of the network undid a transfer; the payment went back.
 *
 * @extends Event<Payment>
 */
final class PaymentReversedEvent extends Event
{
    protected const RECORD = Payment::class;
}
