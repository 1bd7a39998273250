<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class AccountSecret extends Model
{
    protected const SECRETS = ['secret'];

    /** What kind of record this is. */
    public readonly string $object;
    /** `whsec_…`, shown now and never again. */
    public readonly string $secret;
    /** Until then the previous secret signs too. */
    public readonly \DateTimeImmutable $previousSecretExpiresAt;
    /** Where it was made: with test keys in the sandbox, with live keys in production. */
    public readonly string $environment;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['object']) && $this->object = (string) $raw['object'];
        isset($raw['secret']) && $this->secret = (string) $raw['secret'];
        if (isset($raw['previousSecretExpiresAt'])) {
            $this->previousSecretExpiresAt = new \DateTimeImmutable($raw['previousSecretExpiresAt']);
        }
        isset($raw['environment']) && $this->environment = (string) $raw['environment'];
    }
}
