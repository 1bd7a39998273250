<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class Statement extends Model
{
    /** What kind of record this is. */
    public readonly string $object;
    /** Of this form, in CSV too. */
    public readonly int $version;
    /** Id of the settlement. */
    public readonly string $settlement;
    /** The status of the settlement. */
    public readonly string $status;
    /** The coin that settlements are paid in. */
    public readonly string $settlementCurrency;
    /** The network it is on. */
    public readonly string $network;
    /** The wallet that is paid. */
    public readonly string $destination;
    /** With every digit of the coin. */
    public readonly string $amount;
    /**
     * The operator's policy: other coins are converted at the rate of the moment the settlement is paid, so that a move
     * of the rate until then is yours, or of the moment it is made, so that it is the operator's.
     */
    public readonly string $rateMoment;
    /** In hundredths of a percent of what payments brought in. */
    public readonly int $feeBps;
    /** The beginning of the time that is settled. */
    public readonly \DateTimeImmutable $periodStart;
    /** The end of the time that is settled; this instant itself belongs to the next. */
    public readonly \DateTimeImmutable $periodEnd;
    /** Where it was made: with test keys in the sandbox, with live keys in production. */
    public readonly string $environment;
    /**
     * One for each coin that was settled.
     * @var list<StatementCoin>
     */
    public readonly array $coins;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['object']) && $this->object = (string) $raw['object'];
        isset($raw['version']) && $this->version = (int) $raw['version'];
        isset($raw['settlement']) && $this->settlement = (string) $raw['settlement'];
        isset($raw['status']) && $this->status = (string) $raw['status'];
        isset($raw['settlementCurrency']) && $this->settlementCurrency = (string) $raw['settlementCurrency'];
        isset($raw['network']) && $this->network = (string) $raw['network'];
        isset($raw['destination']) && $this->destination = (string) $raw['destination'];
        isset($raw['amount']) && $this->amount = (string) $raw['amount'];
        isset($raw['rateMoment']) && $this->rateMoment = (string) $raw['rateMoment'];
        isset($raw['feeBps']) && $this->feeBps = (int) $raw['feeBps'];
        isset($raw['periodStart']) && $this->periodStart = new \DateTimeImmutable($raw['periodStart']);
        isset($raw['periodEnd']) && $this->periodEnd = new \DateTimeImmutable($raw['periodEnd']);
        isset($raw['environment']) && $this->environment = (string) $raw['environment'];
        isset($raw['coins']) && $this->coins = array_map(StatementCoin::of(...), $raw['coins']);
    }
}
