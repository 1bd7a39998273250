<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Event;

use Ballast\Model\Settlement;

/**
 * A settlement is final on its network.
 *
 * @extends Event<Settlement>
 */
final class SettlementCompletedEvent extends Event
{
    protected const RECORD = Settlement::class;
}
