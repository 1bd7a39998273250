<?php

declare(strict_types=1);

namespace Ballast\Event;

use Ballast\Model;

/**
 * Something that happened, with the whole record as it was then in `$data->object`. Keep the record with the highest
 * `$version`, or read it again.
 *
 * @template-covariant T of Model
 */
abstract class Event extends Model
{
    protected const RECORD = UnknownRecord::class;

    public readonly string $id;
    /** @var string one of `Ballast\Enum\EventType`, or a later one */
    public readonly string $type;
    public readonly string $apiVersion;
    public readonly string $environment;
    public readonly \DateTimeImmutable $createdAt;
    public readonly int $version;
    /** @var EventData<T> */
    public readonly EventData $data;

    /** @param array<string, mixed> $raw */
    final public function __construct(array $raw)
    {
        parent::__construct($raw);
        foreach (['id', 'type', 'apiVersion', 'environment'] as $name) {
            $this->$name = (string) ($raw[$name] ?? '');
        }
        $this->createdAt = new \DateTimeImmutable((string) ($raw['createdAt'] ?? 'now'));
        $this->version = (int) ($raw['version'] ?? 0);
        $data = is_array($raw['data'] ?? null) ? $raw['data'] : [];
        $record = is_array($data['object'] ?? null) ? $data['object'] : [];
        $this->data = new EventData((static::RECORD)::of($record));
    }

    /**
     * The event of a body, as the class of its type.
     *
     * @param array<string, mixed> $raw
     * @return static
     */
    public static function of(array $raw): static
    {
        $type = is_string($raw['type'] ?? null) ? $raw['type'] : '';
        $class = static::class === self::class ? (EventTypes::CLASSES[$type] ?? UnknownEvent::class) : static::class;
        // @phpstan-ignore-next-line: the class is below this one
        return new $class($raw);
    }
}
