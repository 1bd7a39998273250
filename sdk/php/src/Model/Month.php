<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class Month extends Model
{
    /** What kind of record this is. */
    public readonly string $object;
    /** Grows when a field or column changes its meaning or is removed. */
    public readonly int $version;
    /** Your own id. */
    public readonly string $merchantId;
    /** Where it was made: with test keys in the sandbox, with live keys in production. */
    public readonly string $environment;
    /** Such as `2027-01`: on the clocks of your settlements. */
    public readonly string $month;
    /** Of the statement, as on its page and its PDF. */
    public readonly string $number;
    /** Of the settlements. */
    public readonly string $timeZone;
    /** When the month begins. */
    public readonly \DateTimeImmutable $periodStart;
    /** What happened before it is in the statement. */
    public readonly \DateTimeImmutable $periodEnd;
    /** False while the month runs. */
    public readonly bool $isComplete;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['object']) && $this->object = (string) $raw['object'];
        isset($raw['version']) && $this->version = (int) $raw['version'];
        isset($raw['merchantId']) && $this->merchantId = (string) $raw['merchantId'];
        isset($raw['environment']) && $this->environment = (string) $raw['environment'];
        isset($raw['month']) && $this->month = (string) $raw['month'];
        isset($raw['number']) && $this->number = (string) $raw['number'];
        isset($raw['timeZone']) && $this->timeZone = (string) $raw['timeZone'];
        isset($raw['periodStart']) && $this->periodStart = new \DateTimeImmutable($raw['periodStart']);
        isset($raw['periodEnd']) && $this->periodEnd = new \DateTimeImmutable($raw['periodEnd']);
        isset($raw['isComplete']) && $this->isComplete = (bool) $raw['isComplete'];
    }
}
