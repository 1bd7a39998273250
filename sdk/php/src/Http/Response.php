<?php

declare(strict_types=1);

namespace Ballast\Http;

/** A reply as it came. */
final class Response
{
    /** @var array<string, string> by name in small letters */
    public readonly array $headers;

    /** @param array<string, string> $headers */
    public function __construct(
        public readonly int $status,
        array $headers,
        public readonly string $body,
        public readonly int $attempts = 1,
    ) {
        $this->headers = array_change_key_case($headers);
    }

    public function header(string $name): ?string
    {
        return $this->headers[strtolower($name)] ?? null;
    }

    /** Quote it when you ask for help. */
    public function requestId(): ?string
    {
        return $this->header('X-Request-Id');
    }

    /** Whether the reply is the stored one of an earlier request with the same idempotency key. */
    public function wasReplayed(): bool
    {
        return $this->header('Idempotent-Replayed') === 'true';
    }

    public function afterAttempts(int $attempts): self
    {
        return new self($this->status, $this->headers, $this->body, $attempts);
    }
}
