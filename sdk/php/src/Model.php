<?php

declare(strict_types=1);

namespace Ballast;

use Ballast\Http\Response;

/**
 * A record of the API. Fields that this client does not know are in `$raw`; one that the installation does not send
 * yet has no value.
 */
abstract class Model implements \JsonSerializable
{
    /** @var list<string> fields that are not shown by `var_dump` */
    protected const SECRETS = [];

    private ?Response $response = null;

    /** @param array<string, mixed> $raw the record as it came */
    public function __construct(public readonly array $raw)
    {
    }

    /** The record in a reply, which keeps the reply. */
    public static function ofResponse(Response $response): static
    {
        $model = static::of(Transport::decode($response));
        $model->response = $response;
        return $model;
    }

    /** @param array<string, mixed> $raw */
    public static function of(array $raw): static
    {
        // @phpstan-ignore-next-line: every model is made of its raw record alone
        return new static($raw);
    }

    /** The raw reply, where this record was the whole of one: status, headers, body, attempts. */
    public function response(): ?Response
    {
        return $this->response;
    }

    /** @return array<string, mixed> */
    public function jsonSerialize(): array
    {
        return $this->raw;
    }

    /** @return array<string, mixed> the record without its secrets */
    public function __debugInfo(): array
    {
        return array_fill_keys(array_intersect(static::SECRETS, array_keys($this->raw)), '…') + $this->raw;
    }
}
