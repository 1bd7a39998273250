<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class NextSettlements extends Model
{
    /** What kind of record this is. */
    public readonly string $object;
    /** Null when settlements are made by hand. */
    public readonly ?\DateTimeImmutable $scheduledFor;
    /** The beginning of the time that is settled. */
    public readonly \DateTimeImmutable $periodStart;
    /** The end of the time that is settled; this instant itself belongs to the next. */
    public readonly ?\DateTimeImmutable $periodEnd;
    /**
     * What would be paid, one for each wallet and network.
     * @var list<PlannedSettlement>
     */
    public readonly array $settlements;
    /**
     * What is left for a later run, and why.
     * @var list<CarriedOver>
     */
    public readonly array $carriedOver;
    /**
     * What repays debts before anything is paid.
     * @var list<DebtOffset>
     */
    public readonly array $debtOffsets;
    /**
     * The operator's policy: other coins are converted at the rate of the moment the settlement is paid, so that a move
     * of the rate until then is yours, or of the moment it is made, so that it is the operator's.
     */
    public readonly string $rateMoment;
    /** Where it was made: with test keys in the sandbox, with live keys in production. */
    public readonly string $environment;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['object']) && $this->object = (string) $raw['object'];
        $this->scheduledFor = isset($raw['scheduledFor']) ? new \DateTimeImmutable($raw['scheduledFor']) : null;
        isset($raw['periodStart']) && $this->periodStart = new \DateTimeImmutable($raw['periodStart']);
        $this->periodEnd = isset($raw['periodEnd']) ? new \DateTimeImmutable($raw['periodEnd']) : null;
        isset($raw['settlements']) && $this->settlements = array_map(PlannedSettlement::of(...), $raw['settlements']);
        isset($raw['carriedOver']) && $this->carriedOver = array_map(CarriedOver::of(...), $raw['carriedOver']);
        isset($raw['debtOffsets']) && $this->debtOffsets = array_map(DebtOffset::of(...), $raw['debtOffsets']);
        isset($raw['rateMoment']) && $this->rateMoment = (string) $raw['rateMoment'];
        isset($raw['environment']) && $this->environment = (string) $raw['environment'];
    }
}
