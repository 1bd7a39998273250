<?php

declare(strict_types=1);

namespace Ballast\Error;

/** Whatever this client throws. */
class BallastError extends \RuntimeException
{
}
