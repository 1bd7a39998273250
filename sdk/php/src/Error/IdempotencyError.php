<?php

declare(strict_types=1);

namespace Ballast\Error;

/** The idempotency key is wrong, was used with another body, or its first request still runs. */
final class IdempotencyError extends ApiStatusError
{
}
