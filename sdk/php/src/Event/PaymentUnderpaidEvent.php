<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Event;

use Ballast\Model\Payment;

/**
 * Money is confirmed, and it is less than was due; the rest may still come.
 *
 * @extends Event<Payment>
 */
final class PaymentUnderpaidEvent extends Event
{
    protected const RECORD = Payment::class;
}
