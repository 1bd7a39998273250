<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Event;

use Ballast\Model\Refund;

/**
 * A refund has an address now and waits to be sent.
 *
 * @extends Event<Refund>
 */
final class RefundPendingEvent extends Event
{
    protected const RECORD = Refund::class;
}
