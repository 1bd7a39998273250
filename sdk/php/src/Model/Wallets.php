<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class Wallets extends Model
{
    /** Where settlements go on stellar. */
    public readonly string $stellar;
    /** Where settlements go on ethereum. */
    public readonly string $ethereum;
    /** Where settlements go on polygon. */
    public readonly string $polygon;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['stellar']) && $this->stellar = (string) $raw['stellar'];
        isset($raw['ethereum']) && $this->ethereum = (string) $raw['ethereum'];
        isset($raw['polygon']) && $this->polygon = (string) $raw['polygon'];
    }
}
