<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Resource;

use Ballast\Model;
use Ballast\RequestOptions;

/**
 * Your money, and what waits for a decision.
 */
final class Balance extends Resource
{
    /**
     * Get the balance.
     *
     * By coin and network, as it is now or as it was at an instant.
     *
     * Scope: `merchant:read`.
     *
     * @param \DateTimeInterface|string|null $at The balance as it was at this ISO 8601 time, UTC; a date means its end.
     *     Left out, as it is now.
     */
    public function get(\DateTimeInterface|string|null $at = null, ?RequestOptions $options = null): Model\Balance
    {
        return Model\Balance::ofResponse($this->transport->send(
            'GET',
            '/v1/balance',
            self::given([
                'at' => self::moment($at),
            ]),
            options: $options,
        ));
    }
}
