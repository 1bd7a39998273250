<?php

declare(strict_types=1);

namespace Ballast\Error;

/** Too many requests, also after the waiting that this client does by itself. */
final class RateLimitError extends ApiStatusError
{
}
