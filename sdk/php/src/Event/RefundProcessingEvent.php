<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Event;

use Ballast\Model\Refund;

/**
 * A refund was signed and is on its way.
 *
 * @extends Event<Refund>
 */
final class RefundProcessingEvent extends Event
{
    protected const RECORD = Refund::class;
}
