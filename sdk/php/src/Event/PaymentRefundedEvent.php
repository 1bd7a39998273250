<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Event;

use Ballast\Model\Payment;

/**
 * Money was refunded to the payer, in part or in full.
 *
 * @extends Event<Payment>
 */
final class PaymentRefundedEvent extends Event
{
    protected const RECORD = Payment::class;
}
