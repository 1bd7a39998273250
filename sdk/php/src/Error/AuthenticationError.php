<?php

declare(strict_types=1);

namespace Ballast\Error;

/** The key or the signature is not accepted. */
final class AuthenticationError extends ApiStatusError
{
}
