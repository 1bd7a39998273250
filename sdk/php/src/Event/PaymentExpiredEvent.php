<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Event;

use Ballast\Model\Payment;

/**
 * The time to pay ended, and nothing had arrived.
 *
 * @extends Event<Payment>
 */
final class PaymentExpiredEvent extends Event
{
    protected const RECORD = Payment::class;
}
