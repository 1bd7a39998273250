<?php

declare(strict_types=1);

namespace Ballast\Event;

use Ballast\Model;

/** The record of an event that this client does not know: all of it is in `$raw`. */
final class UnknownRecord extends Model
{
}
