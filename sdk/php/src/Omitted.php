<?php

declare(strict_types=1);

namespace Ballast;

/** The default of a parameter that is left out of a change, as `null` there empties the field. */
enum Omitted
{
    case Value;
}
