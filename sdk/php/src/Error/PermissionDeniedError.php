<?php

declare(strict_types=1);

namespace Ballast\Error;

/** The key may not do this, not from here, or the merchant is not active. */
final class PermissionDeniedError extends ApiStatusError
{
}
