<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class RequestLogEntry extends Model
{
    /** Names the record for good. */
    public readonly string $id;
    /** What kind of record this is. */
    public readonly string $object;
    /** Of HTTP. */
    public readonly string $method;
    /** Without the query. */
    public readonly string $path;
    /** What followed the `?`, without secrets. */
    public readonly string $query;
    /** Of the reply. */
    public readonly int $statusCode;
    /** The `code` of its error; null without one. */
    public readonly ?string $errorCode;
    /** Its `X-Request-Id`. */
    public readonly string $requestId;
    /** Its `Idempotency-Key`; null without one. */
    public readonly ?string $idempotencyKey;
    /** The public half of its key pair. */
    public readonly string $publicKey;
    /** Where it came from; null if that is not known. */
    public readonly ?string $ipAddress;
    /** Until it was answered, in milliseconds. */
    public readonly int $durationMs;
    /** Where it was made: with test keys in the sandbox, with live keys in production. */
    public readonly string $environment;
    /** When it came. */
    public readonly \DateTimeImmutable $createdAt;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['id']) && $this->id = (string) $raw['id'];
        isset($raw['object']) && $this->object = (string) $raw['object'];
        isset($raw['method']) && $this->method = (string) $raw['method'];
        isset($raw['path']) && $this->path = (string) $raw['path'];
        isset($raw['query']) && $this->query = (string) $raw['query'];
        isset($raw['statusCode']) && $this->statusCode = (int) $raw['statusCode'];
        $this->errorCode = isset($raw['errorCode']) ? (string) $raw['errorCode'] : null;
        isset($raw['requestId']) && $this->requestId = (string) $raw['requestId'];
        $this->idempotencyKey = isset($raw['idempotencyKey']) ? (string) $raw['idempotencyKey'] : null;
        isset($raw['publicKey']) && $this->publicKey = (string) $raw['publicKey'];
        $this->ipAddress = isset($raw['ipAddress']) ? (string) $raw['ipAddress'] : null;
        isset($raw['durationMs']) && $this->durationMs = (int) $raw['durationMs'];
        isset($raw['environment']) && $this->environment = (string) $raw['environment'];
        isset($raw['createdAt']) && $this->createdAt = new \DateTimeImmutable($raw['createdAt']);
    }
}
