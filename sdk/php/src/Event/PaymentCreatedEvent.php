<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Event;

use Ballast\Model\Payment;

/**
 * A payment was created.
 *
 * @extends Event<Payment>
 */
final class PaymentCreatedEvent extends Event
{
    protected const RECORD = Payment::class;
}
