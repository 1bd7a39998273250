<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Enum;

/** Values as the API writes them. There may be others: this version knows these. */
final class DiscrepancyStatus
{
    public const OPEN = 'open';
    public const ACCEPTED = 'accepted';
    public const REFUNDED = 'refunded';
    public const VOID = 'void';
}
