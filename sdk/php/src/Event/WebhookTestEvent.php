<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Event;

use Ballast\Model\WebhookEndpoint;

/**
 * A test of this webhook was requested.
 *
 * @extends Event<WebhookEndpoint>
 */
final class WebhookTestEvent extends Event
{
    protected const RECORD = WebhookEndpoint::class;
}
