<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class Simulation extends Model
{
    /** What kind of record this is. */
    public readonly string $object;
    /** What was simulated. */
    public readonly string $scenario;
    /** What to expect. */
    public readonly string $description;
    /** Of the simulated on-chain transaction. */
    public readonly string $transactionHash;
    public readonly Payment $payment;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['object']) && $this->object = (string) $raw['object'];
        isset($raw['scenario']) && $this->scenario = (string) $raw['scenario'];
        isset($raw['description']) && $this->description = (string) $raw['description'];
        isset($raw['transactionHash']) && $this->transactionHash = (string) $raw['transactionHash'];
        isset($raw['payment']) && $this->payment = Payment::of($raw['payment']);
    }
}
