<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Event;

use Ballast\Model\Refund;

/**
 * A refund is final on its network.
 *
 * @extends Event<Refund>
 */
final class RefundCompletedEvent extends Event
{
    protected const RECORD = Refund::class;
}
