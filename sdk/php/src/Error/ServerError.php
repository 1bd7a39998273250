<?php

declare(strict_types=1);

namespace Ballast\Error;

/** The installation cannot answer now. With the same idempotency key it is safe to send it again. */
final class ServerError extends ApiStatusError
{
}
