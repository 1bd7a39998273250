<?php

declare(strict_types=1);

namespace Ballast\Error;

/** The request is wrong, or what it asks for is not possible now: correct it. */
final class InvalidRequestError extends ApiStatusError
{
}
