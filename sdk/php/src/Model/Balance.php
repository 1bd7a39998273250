<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class Balance extends Model
{
    /** What kind of record this is. */
    public readonly string $object;
    /** Where it was made: with test keys in the sandbox, with live keys in production. */
    public readonly string $environment;
    /** The instant that was asked for; null for now. */
    public readonly ?\DateTimeImmutable $at;
    /**
     * One for each coin on each network.
     * @var list<BalanceEntry>
     */
    public readonly array $balances;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['object']) && $this->object = (string) $raw['object'];
        isset($raw['environment']) && $this->environment = (string) $raw['environment'];
        $this->at = isset($raw['at']) ? new \DateTimeImmutable($raw['at']) : null;
        isset($raw['balances']) && $this->balances = array_map(BalanceEntry::of(...), $raw['balances']);
    }
}
