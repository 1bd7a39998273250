<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Resource;

use Ballast\Model;
use Ballast\Page;
use Ballast\RequestOptions;

/**
 * Where each event was sent, and the result of each attempt.
 */
final class Deliveries extends Resource
{
    /**
     * List deliveries.
     *
     * Newest first.
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
     * @param string|null $endpoint Only those to this webhook.
     * @param string|null $event Only those of this event.
     * @param string|null $status Only those in this status.
     * @return Page<Model\Delivery>
     */
    public function list(
        ?int $limit = null,
        ?string $starting_after = null,
        ?string $ending_before = null,
        \DateTimeInterface|string|null $created_gte = null,
        \DateTimeInterface|string|null $created_lte = null,
        ?string $endpoint = null,
        ?string $event = null,
        ?string $status = null,
        ?RequestOptions $options = null,
    ): Page {
        return Page::fetch(
            $this->transport,
            Model\Delivery::class,
            '/v1/deliveries',
            self::given([
                'limit' => $limit,
                'starting_after' => $starting_after,
                'ending_before' => $ending_before,
                'created_gte' => self::moment($created_gte),
                'created_lte' => self::moment($created_lte),
                'endpoint' => $endpoint,
                'event' => $event,
                'status' => $status,
            ]),
            $options,
        );
    }

    /**
     * Get a delivery.
     *
     * The delivery with its attempts.
     *
     * Scope: `webhooks:read`.
     */
    public function get(string $deliveryId, ?RequestOptions $options = null): Model\Delivery
    {
        return Model\Delivery::ofResponse($this->transport->send(
            'GET',
            '/v1/deliveries/' . rawurlencode($deliveryId),
            options: $options,
        ));
    }

    /**
     * Send a delivery again.
     *
     * Sends it at once. A delivery that has ended gets all its attempts again.
     *
     * Scope: `webhooks:write`.
     */
    public function redeliver(string $deliveryId, ?RequestOptions $options = null): Model\Delivery
    {
        return Model\Delivery::ofResponse($this->transport->send(
            'POST',
            '/v1/deliveries/' . rawurlencode($deliveryId) . '/redeliver',
            body: [],
            options: $options,
        ));
    }
}
