<?php

declare(strict_types=1);

namespace Ballast\Event;

use Ballast\Model;

/**
 * What an event tells of.
 *
 * @template-covariant T of Model
 */
final class EventData
{
    /** @param T $object the whole record as it was then */
    public function __construct(public readonly Model $object)
    {
    }
}
