<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Resource;

use Ballast\Event;
use Ballast\Page;
use Ballast\RequestOptions;

/**
 * Everything that happened, whether or not a webhook was sent it.
 */
final class Events extends Resource
{
    /**
     * List events.
     *
     * Everything that happened, whether or not any webhook was sent it. Newest first.
     *
     * Scope: `webhooks:read`.
     *
     * @param int|null $limit How many records, 1 to 100.
     * @param string|null $starting_after The `id` of the last record of the page before.
     * @param string|null $ending_before The `id` of the first record of the page after: the page before it, newest
     *     first as well.
     * @param \DateTimeInterface|string|null $created_gte Created at or after this ISO 8601 time, UTC; a date means its
     *     beginning.
     * @param \DateTimeInterface|string|null $created_lte Created at or before this ISO 8601 time, UTC; a date means its
     *     end.
     * @param string|null $type Only events of this type.
     * @return Page<Event\Event>
     */
    public function list(
        ?int $limit = null,
        ?string $starting_after = null,
        ?string $ending_before = null,
        \DateTimeInterface|string|null $created_gte = null,
        \DateTimeInterface|string|null $created_lte = null,
        ?string $type = null,
        ?RequestOptions $options = null,
    ): Page {
        return Page::fetch(
            $this->transport,
            Event\Event::class,
            '/v1/events',
            self::given([
                'limit' => $limit,
                'starting_after' => $starting_after,
                'ending_before' => $ending_before,
                'created_gte' => self::moment($created_gte),
                'created_lte' => self::moment($created_lte),
                'type' => $type,
            ]),
            $options,
        );
    }

    /**
     * Get an event.
     *
     * The event, with its record as it was then.
     *
     * Scope: `webhooks:read`.
     */
    public function get(string $eventId, ?RequestOptions $options = null): Event\Event
    {
        return Event\Event::ofResponse($this->transport->send(
            'GET',
            '/v1/events/' . rawurlencode($eventId),
            options: $options,
        ));
    }
}
