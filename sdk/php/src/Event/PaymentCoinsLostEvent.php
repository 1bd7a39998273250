<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Event;

use Ballast\Model\Payment;

/**
 * Missing coins are lost. They are taken off your balance.
 *
 * @extends Event<Payment>
 */
final class PaymentCoinsLostEvent extends Event
{
    protected const RECORD = Payment::class;
}
