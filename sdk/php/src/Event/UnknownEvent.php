<?php

declare(strict_types=1);

namespace Ballast\Event;

/**
 * An event that this client does not know. Ignore it, or update the client.
 *
 * @extends Event<UnknownRecord>
 */
final class UnknownEvent extends Event
{
    protected const RECORD = UnknownRecord::class;
}
