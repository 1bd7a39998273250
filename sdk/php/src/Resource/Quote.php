<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Resource;

use Ballast\Model;
use Ballast\RequestOptions;

/**
 * What a price comes to in each coin, without a payment.
 */
final class Quote extends Resource
{
    /**
     * Get a quote.
     *
     * What a price comes to in each coin on each network now, with about what the payer's wallet pays the network and
     * how long it takes. Nothing is stored or held: a payment is quoted when it is created.
     *
     * Scope: `payments:read`.
     *
     * @param string $amount The price, in the currency.
     * @param string $currency ISO 4217 code of the price's currency.
     * @param string|null $cryptocurrency Only this coin.
     * @param string|null $network Only this network.
     */
    public function get(
        string $amount,
        string $currency,
        ?string $cryptocurrency = null,
        ?string $network = null,
        ?RequestOptions $options = null,
    ): Model\Quote {
        return Model\Quote::ofResponse($this->transport->send(
            'GET',
            '/v1/quote',
            self::given([
                'amount' => $amount,
                'currency' => $currency,
                'cryptocurrency' => $cryptocurrency,
                'network' => $network,
            ]),
            options: $options,
        ));
    }
}
