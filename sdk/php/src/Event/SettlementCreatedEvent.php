<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Event;

use Ballast\Model\Settlement;

/**
 * A settlement was made and its money is reserved.
 *
 * @extends Event<Settlement>
 */
final class SettlementCreatedEvent extends Event
{
    protected const RECORD = Settlement::class;
}
