<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class Replay extends Model
{
    /** What kind of record this is. */
    public readonly string $object;
    /** Of the webhook. */
    public readonly string $endpoint;
    /** How many deliveries are due now. */
    public readonly int $deliveryCount;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['object']) && $this->object = (string) $raw['object'];
        isset($raw['endpoint']) && $this->endpoint = (string) $raw['endpoint'];
        isset($raw['deliveryCount']) && $this->deliveryCount = (int) $raw['deliveryCount'];
    }
}
