<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Decimal;
use Ballast\Model;

final class Quote extends Model
{
    /** What kind of record this is. */
    public readonly string $object;
    /** In the currency. */
    public readonly string $amount;
    /** ISO 4217 code of the price's currency. */
    public readonly string $currency;
    /**
     * Each coin on each network that can be paid with now, the cheapest and fastest first.
     * @var list<QuoteOption>
     */
    public readonly array $options;
    /** Where it was made: with test keys in the sandbox, with live keys in production. */
    public readonly string $environment;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['object']) && $this->object = (string) $raw['object'];
        isset($raw['amount']) && $this->amount = Decimal::toText($raw['amount']);
        isset($raw['currency']) && $this->currency = (string) $raw['currency'];
        isset($raw['options']) && $this->options = array_map(QuoteOption::of(...), $raw['options']);
        isset($raw['environment']) && $this->environment = (string) $raw['environment'];
    }
}
