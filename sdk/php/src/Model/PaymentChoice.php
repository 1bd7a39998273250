<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class PaymentChoice extends Model
{
    /** The coin. */
    public readonly string $cryptocurrency;
    /** The network it is on. */
    public readonly string $network;
    /** Where settlements go if the payer chooses it. */
    public readonly string $merchantWallet;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['cryptocurrency']) && $this->cryptocurrency = (string) $raw['cryptocurrency'];
        isset($raw['network']) && $this->network = (string) $raw['network'];
        isset($raw['merchantWallet']) && $this->merchantWallet = (string) $raw['merchantWallet'];
    }
}
