<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class Schedule extends Model
{
    /** How often settlements are made. */
    public readonly string $frequency;
    /** 24-hour HH:MM. */
    public readonly string $time;
    /** IANA name of the time zone that the time of day is in. */
    public readonly string $timezone;
    /** For weekly settlements; null for others. */
    public readonly ?int $dayOfWeek;
    /** For monthly settlements; null for others. A shorter month takes its last day. */
    public readonly ?int $dayOfMonth;
    /** Decimal, six fractional digits. */
    public readonly string $minimumAmount;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['frequency']) && $this->frequency = (string) $raw['frequency'];
        isset($raw['time']) && $this->time = (string) $raw['time'];
        isset($raw['timezone']) && $this->timezone = (string) $raw['timezone'];
        $this->dayOfWeek = isset($raw['dayOfWeek']) ? (int) $raw['dayOfWeek'] : null;
        $this->dayOfMonth = isset($raw['dayOfMonth']) ? (int) $raw['dayOfMonth'] : null;
        isset($raw['minimumAmount']) && $this->minimumAmount = (string) $raw['minimumAmount'];
    }
}
