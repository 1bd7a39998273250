<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Event;

use Ballast\Model\Settlement;

/**
 * A settlement could not be paid; its money will be in a later one.
 *
 * @extends Event<Settlement>
 */
final class SettlementFailedEvent extends Event
{
    protected const RECORD = Settlement::class;
}
