<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Enum;

/** Values as the API writes them. There may be others: this version knows these. */
final class MerchantPlan
{
    public const STARTER = 'starter';
    public const BUSINESS = 'business';
    public const ENTERPRISE = 'enterprise';
}
