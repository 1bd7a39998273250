<?php

declare(strict_types=1);

namespace Ballast\Http;

/** One attempt, as it is sent. */
final class Request
{
    /** @param array<string, string> $headers */
    public function __construct(
        public readonly string $method,
        public readonly string $url,
        #[\SensitiveParameter]
        public readonly array $headers,
        public readonly ?string $body,
        public readonly float $timeout,
        public readonly float $connectTimeout,
    ) {
    }

    /** @return array<string, mixed> without headers, which hold the secret key */
    public function __debugInfo(): array
    {
        return ['method' => $this->method, 'url' => $this->url, 'timeout' => $this->timeout];
    }
}
