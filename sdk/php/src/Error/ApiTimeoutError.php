<?php

declare(strict_types=1);

namespace Ballast\Error;

/** No reply came in time. */
final class ApiTimeoutError extends ApiConnectionError
{
}
