<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Decimal;
use Ballast\Model;

final class Item extends Model
{
    /** What it is. */
    public readonly string $name;
    /** How many pieces. */
    public readonly int $quantity;
    /** Of all its pieces, in the currency; null without one. */
    public readonly ?string $amount;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['name']) && $this->name = (string) $raw['name'];
        isset($raw['quantity']) && $this->quantity = (int) $raw['quantity'];
        $this->amount = isset($raw['amount']) ? Decimal::toText($raw['amount']) : null;
    }
}
