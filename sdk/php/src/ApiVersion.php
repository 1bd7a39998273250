<?php

// Generated from docs/api/versions.md by sdk/generator.

declare(strict_types=1);

namespace Ballast;

/** The version of the API whose records this package has. */
final class ApiVersion
{
    public const VERSION = '2026-11-29';
}
