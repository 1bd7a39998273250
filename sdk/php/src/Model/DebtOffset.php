<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class DebtOffset extends Model
{
    /** The network it is on. */
    public readonly string $network;
    /** The coin that is taken. */
    public readonly string $cryptocurrency;
    /** What is taken of it: decimal. */
    public readonly string $amount;
    /** Where it is owed. */
    public readonly string $debtNetwork;
    /** The coin that is owed. */
    public readonly string $debtCryptocurrency;
    /** What of the debt is repaid. */
    public readonly string $debtAmount;
    /** What one of the coin taken is worth in the coin owed; 1 for the same coin. */
    public readonly string $rate;
    /** Where the rate is from; null for the same coin. */
    public readonly ?string $source;
    /** When the rate was read. */
    public readonly ?\DateTimeImmutable $quotedAt;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['network']) && $this->network = (string) $raw['network'];
        isset($raw['cryptocurrency']) && $this->cryptocurrency = (string) $raw['cryptocurrency'];
        isset($raw['amount']) && $this->amount = (string) $raw['amount'];
        isset($raw['debtNetwork']) && $this->debtNetwork = (string) $raw['debtNetwork'];
        isset($raw['debtCryptocurrency']) && $this->debtCryptocurrency = (string) $raw['debtCryptocurrency'];
        isset($raw['debtAmount']) && $this->debtAmount = (string) $raw['debtAmount'];
        isset($raw['rate']) && $this->rate = (string) $raw['rate'];
        $this->source = isset($raw['source']) ? (string) $raw['source'] : null;
        $this->quotedAt = isset($raw['quotedAt']) ? new \DateTimeImmutable($raw['quotedAt']) : null;
    }
}
