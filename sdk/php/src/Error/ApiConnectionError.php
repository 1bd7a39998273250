<?php

declare(strict_types=1);

namespace Ballast\Error;

/** No reply came: the installation cannot be reached, or the connection broke. */
class ApiConnectionError extends BallastError
{
}
