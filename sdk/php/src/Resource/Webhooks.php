<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Resource;

use Ballast\Model;
use Ballast\Omitted;
use Ballast\Page;
use Ballast\RequestOptions;

/**
 * The addresses that receive events, and each event as it is sent.
 */
final class Webhooks extends Resource
{
    /**
     * Create a webhook.
     *
     * Registers an address of yours for events. The reply holds the `secret` that signs what is sent there; it is shown
     * this once.
     *
     * Scope: `webhooks:write`.
     *
     * @param string $url Where events are sent: a public https address; http too in the sandbox.
     * @param list<string>|null $events Which events to send; `*` is all, later ones included.
     * @param string|null $description A note of your own.
     */
    public function create(
        string $url,
        ?array $events = null,
        ?string $description = null,
        ?RequestOptions $options = null,
    ): Model\WebhookEndpointWithSecret {
        return Model\WebhookEndpointWithSecret::ofResponse($this->transport->send(
            'POST',
            '/v1/webhooks',
            body: self::given([
                'url' => $url,
                'events' => $events,
                'description' => $description,
            ]),
            options: $options,
        ));
    }

    /**
     * List webhooks.
     *
     * Newest first, without their secrets.
     *
     * Scope: `webhooks:read`.
     *
     * @param int|null $limit How many records, 1 to 100.
     * @param string|null $starting_after The `id` of the last record of the page before.
     * @param string|null $ending_before The `id` of the first record of the page after: the page before it, newest
     *     first as well.
     * @return Page<Model\WebhookEndpoint>
     */
    public function list(
        ?int $limit = null,
        ?string $starting_after = null,
        ?string $ending_before = null,
        ?RequestOptions $options = null,
    ): Page {
        return Page::fetch(
            $this->transport,
            Model\WebhookEndpoint::class,
            '/v1/webhooks',
            self::given([
                'limit' => $limit,
                'starting_after' => $starting_after,
                'ending_before' => $ending_before,
            ]),
            $options,
        );
    }

    /**
     * Rotate the account's signing secret.
     *
     * It signs what is sent to the `webhookUrl` of payments. The one before signs as well for another 24 hours.
     *
     * Scope: `webhooks:write`.
     */
    public function rotateAccountSecret(?RequestOptions $options = null): Model\AccountSecret
    {
        return Model\AccountSecret::ofResponse($this->transport->send(
            'POST',
            '/v1/webhooks/signing-secret/rotate',
            body: [],
            options: $options,
        ));
    }

    /**
     * Get a webhook.
     *
     * The webhook, without its secret.
     *
     * Scope: `webhooks:read`.
     */
    public function get(string $webhookId, ?RequestOptions $options = null): Model\WebhookEndpoint
    {
        return Model\WebhookEndpoint::ofResponse($this->transport->send(
            'GET',
            '/v1/webhooks/' . rawurlencode($webhookId),
            options: $options,
        ));
    }

    /**
     * Update a webhook.
     *
     * Changes what is given, and leaves the rest. `status` disables it, or enables it again.
     *
     * Scope: `webhooks:write`.
     *
     * @param string|null|Omitted $url The address that events are sent to.
     * @param list<string>|null|Omitted $events The types of events it is sent; `*` is all of them.
     * @param string|null|Omitted $description A note of your own.
     * @param string|null|Omitted $status Disabling discards what waits to be sent.
     */
    public function update(
        string $webhookId,
        string|null|Omitted $url = Omitted::Value,
        array|null|Omitted $events = Omitted::Value,
        string|null|Omitted $description = Omitted::Value,
        string|null|Omitted $status = Omitted::Value,
        ?RequestOptions $options = null,
    ): Model\WebhookEndpoint {
        return Model\WebhookEndpoint::ofResponse($this->transport->send(
            'PATCH',
            '/v1/webhooks/' . rawurlencode($webhookId),
            body: self::changes([
                'url' => $url,
                'events' => $events,
                'description' => $description,
                'status' => $status,
            ]),
            options: $options,
        ));
    }

    /**
     * Delete a webhook.
     *
     * For good. Its deliveries can still be looked up.
     *
     * Scope: `webhooks:write`.
     */
    public function delete(string $webhookId, ?RequestOptions $options = null): Model\DeletedWebhook
    {
        return Model\DeletedWebhook::ofResponse($this->transport->send(
            'DELETE',
            '/v1/webhooks/' . rawurlencode($webhookId),
            options: $options,
        ));
    }

    /**
     * Send a test event.
     *
     * Sends `webhook.test` only to this webhook. The reply is the delivery; its attempt shows up a moment later.
     *
     * Scope: `webhooks:write`.
     */
    public function test(string $webhookId, ?RequestOptions $options = null): Model\Delivery
    {
        return Model\Delivery::ofResponse($this->transport->send(
            'POST',
            '/v1/webhooks/' . rawurlencode($webhookId) . '/test',
            body: [],
            options: $options,
        ));
    }

    /**
     * Rotate a webhook's signing secret.
     *
     * The one before signs as well for another 24 hours.
     *
     * Scope: `webhooks:write`.
     */
    public function rotate(string $webhookId, ?RequestOptions $options = null): Model\WebhookEndpointWithSecret
    {
        return Model\WebhookEndpointWithSecret::ofResponse($this->transport->send(
            'POST',
            '/v1/webhooks/' . rawurlencode($webhookId) . '/rotate',
            body: [],
            options: $options,
        ));
    }

    /**
     * Replay events.
     *
     * Also those that arrived before, and those that happened while the webhook was disabled or not yet registered; at
     * most 10,000.
     *
     * Scope: `webhooks:write`.
     *
     * @param \DateTimeInterface|string $createdGte From this ISO 8601 time on, UTC; a date means its beginning.
     * @param \DateTimeInterface|string $createdLte Up to this time; a date means its end.
     * @param list<string>|null $types Only these; otherwise all the webhook listens to.
     */
    public function replay(
        string $webhookId,
        \DateTimeInterface|string $createdGte,
        \DateTimeInterface|string $createdLte,
        ?array $types = null,
        ?RequestOptions $options = null,
    ): Model\Replay {
        return Model\Replay::ofResponse($this->transport->send(
            'POST',
            '/v1/webhooks/' . rawurlencode($webhookId) . '/replay',
            body: self::given([
                'createdGte' => self::moment($createdGte),
                'createdLte' => self::moment($createdLte),
                'types' => $types,
            ]),
            options: $options,
        ));
    }
}
