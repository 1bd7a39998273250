<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Event;

use Ballast\Model\Refund;

/**
 * A refund could not be paid; its money is back where it was.
 *
 * @extends Event<Refund>
 */
final class RefundFailedEvent extends Event
{
    protected const RECORD = Refund::class;
}
