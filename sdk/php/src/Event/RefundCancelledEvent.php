<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Event;

use Ballast\Model\Refund;

/**
 * A refund was cancelled before it was sent; its money is back where it was.
 *
 * @extends Event<Refund>
 */
final class RefundCancelledEvent extends Event
{
    protected const RECORD = Refund::class;
}
