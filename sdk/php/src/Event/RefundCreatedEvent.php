<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Event;

use Ballast\Model\Refund;

/**
 * A refund was created, and its money is reserved.
 *
 * @extends Event<Refund>
 */
final class RefundCreatedEvent extends Event
{
    protected const RECORD = Refund::class;
}
