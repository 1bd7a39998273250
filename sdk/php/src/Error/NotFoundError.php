<?php

declare(strict_types=1);

namespace Ballast\Error;

/** There is no such record under this key. */
final class NotFoundError extends ApiStatusError
{
}
