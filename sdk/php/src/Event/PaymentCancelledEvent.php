<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Event;

use Ballast\Model\Payment;

/**
 * The payment was cancelled before anything was paid.
 *
 * @extends Event<Payment>
 */
final class PaymentCancelledEvent extends Event
{
    protected const RECORD = Payment::class;
}
