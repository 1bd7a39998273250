<?php

declare(strict_types=1);

namespace Ballast\Error;

/** A webhook whose signature, timestamp or body is not what Ballast sent. Reply 400. */
final class WebhookVerificationError extends BallastError
{
}
