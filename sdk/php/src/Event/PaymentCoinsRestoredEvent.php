<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Event;

use Ballast\Model\Payment;

/**
 * Missing coins are back, or the operator has covered them. The money that was held is settled again.
 *
 * @extends Event<Payment>
 */
final class PaymentCoinsRestoredEvent extends Event
{
    protected const RECORD = Payment::class;
}
