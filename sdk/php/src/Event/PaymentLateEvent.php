<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Event;

use Ballast\Model\Payment;

/**
 * Money that arrived after the time to pay is confirmed. It waits for a decision.
 *
 * @extends Event<Payment>
 */
final class PaymentLateEvent extends Event
{
    protected const RECORD = Payment::class;
}
