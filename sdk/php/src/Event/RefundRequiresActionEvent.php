<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Event;

use Ballast\Model\Refund;

/**
 * A refund needs an address: give one, or send its `claimUrl` to the payer.
 *
 * @extends Event<Refund>
 */
final class RefundRequiresActionEvent extends Event
{
    protected const RECORD = Refund::class;
}
