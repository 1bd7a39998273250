<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Enum;

/** Values as the API writes them. There may be others: this version knows these. */
final class RequestStatus
{
    public const _2XX = '2xx';
    public const _4XX = '4xx';
    public const _5XX = '5xx';
    public const ERROR = 'error';
}
