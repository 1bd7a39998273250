<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Event;

use Ballast\Model\Payment;

/**
 * Coins that were paid are missing on the network. The part of your balance that came from them is held until it is
 * decided who bears the loss.
 *
 * @extends Event<Payment>
 */
final class PaymentCoinsMissingEvent extends Event
{
    protected const RECORD = Payment::class;
}
