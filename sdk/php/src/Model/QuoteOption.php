<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Decimal;
use Ballast\Model;

final class QuoteOption extends Model
{
    /** The coin. */
    public readonly string $cryptocurrency;
    /** The network it is on. */
    public readonly string $network;
    /** What the payer would be asked for: decimal, six digits. */
    public readonly string $cryptoAmount;
    public readonly ExchangeRate $exchangeRate;
    /** About what the payer's wallet pays the network, in USD. */
    public readonly string $networkFee;
    /** About how long it takes to be confirmed. */
    public readonly int $seconds;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['cryptocurrency']) && $this->cryptocurrency = (string) $raw['cryptocurrency'];
        isset($raw['network']) && $this->network = (string) $raw['network'];
        isset($raw['cryptoAmount']) && $this->cryptoAmount = (string) $raw['cryptoAmount'];
        isset($raw['exchangeRate']) && $this->exchangeRate = ExchangeRate::of($raw['exchangeRate']);
        isset($raw['networkFee']) && $this->networkFee = Decimal::toText($raw['networkFee']);
        isset($raw['seconds']) && $this->seconds = (int) $raw['seconds'];
    }
}
