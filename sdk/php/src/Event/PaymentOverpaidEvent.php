<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Event;

use Ballast\Model\Payment;

/**
 * More than was due is confirmed; the surplus waits for a decision.
 *
 * @extends Event<Payment>
 */
final class PaymentOverpaidEvent extends Event
{
    protected const RECORD = Payment::class;
}
