<?php

declare(strict_types=1);

namespace Ballast\Resource;

use Ballast\Decimal;
use Ballast\Omitted;
use Ballast\Transport;

/** What the resources share: how parameters become what is sent. */
abstract class Resource
{
    final public function __construct(protected readonly Transport $transport)
    {
    }

    /**
     * The parameters that were given, where `null` is the same as nothing.
     *
     * @param array<string, mixed> $values
     * @return array<string, mixed>
     */
    protected static function given(array $values): array
    {
        return array_filter($values, static fn(mixed $value): bool => $value !== null && $value !== Omitted::Value);
    }

    /**
     * The parameters of a change, where `null` empties a field.
     *
     * @param array<string, mixed> $values
     * @return array<string, mixed>
     */
    protected static function changes(array $values): array
    {
        return array_filter($values, static fn(mixed $value): bool => $value !== Omitted::Value);
    }

    protected static function number(int|float|string|Omitted|null $amount): int|float|Omitted|null
    {
        return is_string($amount) ? Decimal::toNumber($amount) : $amount;
    }

    protected static function moment(\DateTimeInterface|string|Omitted|null $moment): string|Omitted|null
    {
        return $moment instanceof \DateTimeInterface
            ? \DateTimeImmutable::createFromInterface($moment)->setTimezone(new \DateTimeZone('UTC'))
                ->format('Y-m-d\TH:i:s.v\Z')
            : $moment;
    }

    /** @param array<string, mixed>|Omitted|null $object where `[]` must become `{}` */
    protected static function object(array|Omitted|null $object): object|null
    {
        return is_array($object) ? (object) $object : $object;
    }
}
