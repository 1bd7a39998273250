"""WebhooksResource of the clients. Generated from docs/openapi.json by sdk/generator."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Unpack

from ballast._core import NOT_GIVEN, Call, NotGiven, RequestOptions, WriteOptions, segment
from ballast._pages import AsyncPager, Page, list_page, list_pages
from ballast._transport import (
    AsyncRawTransport,
    AsyncTransport,
    RawTransport,
    Transport,
    async_raw_response,
    json_reader,
    raw_response,
)
from ballast.models import (
    AccountSecret,
    DeletedWebhook,
    Delivery,
    EventType,
    Moment,
    Replay,
    WebhookEndpoint,
    WebhookEndpointWithSecret,
    WebhookEventType,
    WebhookStatus,
)


class WebhooksResource:
    """The addresses that receive events, and each event as it is sent."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @cached_property
    def with_raw_response(self) -> WebhooksWithRawResponse:
        """The same methods, which return the reply with its status and headers; `parse()` makes the record of it."""
        return WebhooksWithRawResponse(self._transport)

    def create(
        self,
        *,
        url: str,
        events: Sequence[WebhookEventType] | NotGiven | None = NOT_GIVEN,
        description: str | NotGiven | None = NOT_GIVEN,
        **options: Unpack[WriteOptions],
    ) -> WebhookEndpointWithSecret:
        """Create a webhook.

        Registers an address of yours for events. The reply holds the `secret` that signs what is sent there; it
        is shown this once.

        Scope: `webhooks:write`.

        - `url`: Where events are sent: a public https address; http too in the sandbox.
        - `events`: Which events to send; `*` is all, later ones included.
        - `description`: A note of your own.
        """

        call = Call(
            "POST",
            "/webhooks",
            body={
                "url": url,
                "events": events,
                "description": description,
            },
            options=options,
        )
        return self._transport.send(call, json_reader(WebhookEndpointWithSecret))

    def list(
        self,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
        **options: Unpack[RequestOptions],
    ) -> Page[WebhookEndpoint]:
        """List webhooks.

        Newest first, without their secrets.

        Scope: `webhooks:read`.

        - `limit`: How many records, 1 to 100.
        - `starting_after`: The `id` of the last record of the page before.
        - `ending_before`: The `id` of the first record of the page after: the page before it, newest first as well.
        """

        call = Call(
            "GET",
            "/webhooks",
            query={
                "limit": limit,
                "starting_after": starting_after,
                "ending_before": ending_before,
            },
            options=options,
        )
        return list_page(self._transport, WebhookEndpoint, call)

    def rotate_account_secret(self, **options: Unpack[WriteOptions]) -> AccountSecret:
        """Rotate the account's signing secret.

        It signs what is sent to the `webhookUrl` of payments. The one before signs as well for another 24 hours.

        Scope: `webhooks:write`.
        """

        call = Call(
            "POST",
            "/webhooks/signing-secret/rotate",
            body={},
            options=options,
        )
        return self._transport.send(call, json_reader(AccountSecret))

    def get(self, webhook_id: str, **options: Unpack[RequestOptions]) -> WebhookEndpoint:
        """Get a webhook.

        The webhook, without its secret.

        Scope: `webhooks:read`.
        """

        call = Call(
            "GET",
            f"/webhooks/{segment(webhook_id)}",
            options=options,
        )
        return self._transport.send(call, json_reader(WebhookEndpoint))

    def update(
        self,
        webhook_id: str,
        *,
        url: str | NotGiven | None = NOT_GIVEN,
        events: Sequence[WebhookEventType] | NotGiven | None = NOT_GIVEN,
        description: str | NotGiven | None = NOT_GIVEN,
        status: WebhookStatus | NotGiven | None = NOT_GIVEN,
        **options: Unpack[RequestOptions],
    ) -> WebhookEndpoint:
        """Update a webhook.

        Changes what is given, and leaves the rest. `status` disables it, or enables it again.

        Scope: `webhooks:write`.

        - `url`: The address that events are sent to.
        - `events`: The types of events it is sent; `*` is all of them.
        - `description`: A note of your own.
        - `status`: Disabling discards what waits to be sent.
        """

        call = Call(
            "PATCH",
            f"/webhooks/{segment(webhook_id)}",
            body={
                "url": url,
                "events": events,
                "description": description,
                "status": status,
            },
            options=options,
        )
        return self._transport.send(call, json_reader(WebhookEndpoint))

    def delete(self, webhook_id: str, **options: Unpack[RequestOptions]) -> DeletedWebhook:
        """Delete a webhook.

        For good. Its deliveries can still be looked up.

        Scope: `webhooks:write`.
        """

        call = Call(
            "DELETE",
            f"/webhooks/{segment(webhook_id)}",
            options=options,
        )
        return self._transport.send(call, json_reader(DeletedWebhook))

    def test(self, webhook_id: str, **options: Unpack[WriteOptions]) -> Delivery:
        """Send a test event.

        Sends `webhook.test` only to this webhook. The reply is the delivery; its attempt shows up a moment later.

        Scope: `webhooks:write`.
        """

        call = Call(
            "POST",
            f"/webhooks/{segment(webhook_id)}/test",
            body={},
            options=options,
        )
        return self._transport.send(call, json_reader(Delivery))

    def rotate(self, webhook_id: str, **options: Unpack[WriteOptions]) -> WebhookEndpointWithSecret:
        """Rotate a webhook's signing secret.

        The one before signs as well for another 24 hours.

        Scope: `webhooks:write`.
        """

        call = Call(
            "POST",
            f"/webhooks/{segment(webhook_id)}/rotate",
            body={},
            options=options,
        )
        return self._transport.send(call, json_reader(WebhookEndpointWithSecret))

    def replay(
        self,
        webhook_id: str,
        *,
        created_gte: Moment,
        created_lte: Moment,
        types: Sequence[EventType] | NotGiven | None = NOT_GIVEN,
        **options: Unpack[WriteOptions],
    ) -> Replay:
        """Replay events.

        Also those that arrived before, and those that happened while the webhook was disabled or not yet
        registered; at most 10,000.

        Scope: `webhooks:write`.

        - `created_gte`: From this ISO 8601 time on, UTC; a date means its beginning.
        - `created_lte`: Up to this time; a date means its end.
        - `types`: Only these; otherwise all the webhook listens to.
        """

        call = Call(
            "POST",
            f"/webhooks/{segment(webhook_id)}/replay",
            body={
                "createdGte": created_gte,
                "createdLte": created_lte,
                "types": types,
            },
            options=options,
        )
        return self._transport.send(call, json_reader(Replay))


class WebhooksWithRawResponse:
    def __init__(self, transport: Transport) -> None:
        resource = WebhooksResource(RawTransport(transport.core, transport.client, transport.sleep))
        self.create = raw_response(resource.create)
        self.list = raw_response(resource.list)
        self.rotate_account_secret = raw_response(resource.rotate_account_secret)
        self.get = raw_response(resource.get)
        self.update = raw_response(resource.update)
        self.delete = raw_response(resource.delete)
        self.test = raw_response(resource.test)
        self.rotate = raw_response(resource.rotate)
        self.replay = raw_response(resource.replay)


class AsyncWebhooksResource:
    """The addresses that receive events, and each event as it is sent."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @cached_property
    def with_raw_response(self) -> AsyncWebhooksWithRawResponse:
        """The same methods, which return the reply with its status and headers; `parse()` makes the record of it."""
        return AsyncWebhooksWithRawResponse(self._transport)

    async def create(
        self,
        *,
        url: str,
        events: Sequence[WebhookEventType] | NotGiven | None = NOT_GIVEN,
        description: str | NotGiven | None = NOT_GIVEN,
        **options: Unpack[WriteOptions],
    ) -> WebhookEndpointWithSecret:
        """Create a webhook.

        Registers an address of yours for events. The reply holds the `secret` that signs what is sent there; it
        is shown this once.

        Scope: `webhooks:write`.

        - `url`: Where events are sent: a public https address; http too in the sandbox.
        - `events`: Which events to send; `*` is all, later ones included.
        - `description`: A note of your own.
        """

        call = Call(
            "POST",
            "/webhooks",
            body={
                "url": url,
                "events": events,
                "description": description,
            },
            options=options,
        )
        return await self._transport.send(call, json_reader(WebhookEndpointWithSecret))

    def list(
        self,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
        **options: Unpack[RequestOptions],
    ) -> AsyncPager[WebhookEndpoint]:
        """List webhooks.

        Newest first, without their secrets.

        Scope: `webhooks:read`.

        - `limit`: How many records, 1 to 100.
        - `starting_after`: The `id` of the last record of the page before.
        - `ending_before`: The `id` of the first record of the page after: the page before it, newest first as well.
        """

        call = Call(
            "GET",
            "/webhooks",
            query={
                "limit": limit,
                "starting_after": starting_after,
                "ending_before": ending_before,
            },
            options=options,
        )
        return list_pages(self._transport, WebhookEndpoint, call)

    async def rotate_account_secret(self, **options: Unpack[WriteOptions]) -> AccountSecret:
        """Rotate the account's signing secret.

        It signs what is sent to the `webhookUrl` of payments. The one before signs as well for another 24 hours.

        Scope: `webhooks:write`.
        """

        call = Call(
            "POST",
            "/webhooks/signing-secret/rotate",
            body={},
            options=options,
        )
        return await self._transport.send(call, json_reader(AccountSecret))

    async def get(self, webhook_id: str, **options: Unpack[RequestOptions]) -> WebhookEndpoint:
        """Get a webhook.

        The webhook, without its secret.

        Scope: `webhooks:read`.
        """

        call = Call(
            "GET",
            f"/webhooks/{segment(webhook_id)}",
            options=options,
        )
        return await self._transport.send(call, json_reader(WebhookEndpoint))

    async def update(
        self,
        webhook_id: str,
        *,
        url: str | NotGiven | None = NOT_GIVEN,
        events: Sequence[WebhookEventType] | NotGiven | None = NOT_GIVEN,
        description: str | NotGiven | None = NOT_GIVEN,
        status: WebhookStatus | NotGiven | None = NOT_GIVEN,
        **options: Unpack[RequestOptions],
    ) -> WebhookEndpoint:
        """Update a webhook.

        Changes what is given, and leaves the rest. `status` disables it, or enables it again.

        Scope: `webhooks:write`.

        - `url`: The address that events are sent to.
        - `events`: The types of events it is sent; `*` is all of them.
        - `description`: A note of your own.
        - `status`: Disabling discards what waits to be sent.
        """

        call = Call(
            "PATCH",
            f"/webhooks/{segment(webhook_id)}",
            body={
                "url": url,
                "events": events,
                "description": description,
                "status": status,
            },
            options=options,
        )
        return await self._transport.send(call, json_reader(WebhookEndpoint))

    async def delete(self, webhook_id: str, **options: Unpack[RequestOptions]) -> DeletedWebhook:
        """Delete a webhook.

        For good. Its deliveries can still be looked up.

        Scope: `webhooks:write`.
        """

        call = Call(
            "DELETE",
            f"/webhooks/{segment(webhook_id)}",
            options=options,
        )
        return await self._transport.send(call, json_reader(DeletedWebhook))

    async def test(self, webhook_id: str, **options: Unpack[WriteOptions]) -> Delivery:
        """Send a test event.

        Sends `webhook.test` only to this webhook. The reply is the delivery; its attempt shows up a moment later.

        Scope: `webhooks:write`.
        """

        call = Call(
            "POST",
            f"/webhooks/{segment(webhook_id)}/test",
            body={},
            options=options,
        )
        return await self._transport.send(call, json_reader(Delivery))

    async def rotate(self, webhook_id: str, **options: Unpack[WriteOptions]) -> WebhookEndpointWithSecret:
        """Rotate a webhook's signing secret.

        The one before signs as well for another 24 hours.

        Scope: `webhooks:write`.
        """

        call = Call(
            "POST",
            f"/webhooks/{segment(webhook_id)}/rotate",
            body={},
            options=options,
        )
        return await self._transport.send(call, json_reader(WebhookEndpointWithSecret))

    async def replay(
        self,
        webhook_id: str,
        *,
        created_gte: Moment,
        created_lte: Moment,
        types: Sequence[EventType] | NotGiven | None = NOT_GIVEN,
        **options: Unpack[WriteOptions],
    ) -> Replay:
        """Replay events.

        Also those that arrived before, and those that happened while the webhook was disabled or not yet
        registered; at most 10,000.

        Scope: `webhooks:write`.

        - `created_gte`: From this ISO 8601 time on, UTC; a date means its beginning.
        - `created_lte`: Up to this time; a date means its end.
        - `types`: Only these; otherwise all the webhook listens to.
        """

        call = Call(
            "POST",
            f"/webhooks/{segment(webhook_id)}/replay",
            body={
                "createdGte": created_gte,
                "createdLte": created_lte,
                "types": types,
            },
            options=options,
        )
        return await self._transport.send(call, json_reader(Replay))


class AsyncWebhooksWithRawResponse:
    def __init__(self, transport: AsyncTransport) -> None:
        resource = AsyncWebhooksResource(AsyncRawTransport(transport.core, transport.client, transport.sleep))
        self.create = async_raw_response(resource.create)
        self.list = async_raw_response(resource.list)
        self.rotate_account_secret = async_raw_response(resource.rotate_account_secret)
        self.get = async_raw_response(resource.get)
        self.update = async_raw_response(resource.update)
        self.delete = async_raw_response(resource.delete)
        self.test = async_raw_response(resource.test)
        self.rotate = async_raw_response(resource.rotate)
        self.replay = async_raw_response(resource.replay)
