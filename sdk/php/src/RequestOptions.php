<?php

declare(strict_types=1);

namespace Ballast;

/** What differs for one call from what the client does otherwise. */
final class RequestOptions
{
    /**
     * @param float|null $timeout seconds for one attempt
     * @param string|null $idempotencyKey of your own, such as an order's number; otherwise each POST gets a new one
     * @param array<string, string> $headers to add
     */
    public function __construct(
        public readonly ?float $timeout = null,
        public readonly ?int $maxRetries = null,
        public readonly ?string $idempotencyKey = null,
        public readonly array $headers = [],
    ) {
    }
}
