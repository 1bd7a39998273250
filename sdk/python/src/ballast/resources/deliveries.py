"""DeliveriesResource of the clients. Generated from docs/openapi.json by sdk/generator."""

from __future__ import annotations

from functools import cached_property
from typing import Unpack

from ballast._core import Call, RequestOptions, WriteOptions, segment
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
from ballast.models import Delivery, DeliveryStatus, Moment


class DeliveriesResource:
    """Where each event was sent, and the result of each attempt."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @cached_property
    def with_raw_response(self) -> DeliveriesWithRawResponse:
        """The same methods, which return the reply with its status and headers; `parse()` makes the record of it."""
        return DeliveriesWithRawResponse(self._transport)

    def list(
        self,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
        created_gte: Moment | None = None,
        created_lte: Moment | None = None,
        endpoint: str | None = None,
        event: str | None = None,
        status: DeliveryStatus | None = None,
        **options: Unpack[RequestOptions],
    ) -> Page[Delivery]:
        """List deliveries.

        Newest first.

        Scope: `webhooks:read`.

        - `limit`: How many records, 1 to 100.
        - `starting_after`: The `id` of the last record of the page before.
        - `ending_before`: The `id` of the first record of the page after: the page before it, newest first as well.
        - `created_gte`: Created at or after this ISO 8601 time, UTC; a date means its beginning.
        - `created_lte`: Created at or before this ISO 8601 time, UTC; a date means its end.
        - `endpoint`: Only those to this webhook.
        - `event`: Only those of this event.
        - `status`: Only those in this status.
        """

        call = Call(
            "GET",
            "/deliveries",
            query={
                "limit": limit,
                "starting_after": starting_after,
                "ending_before": ending_before,
                "created_gte": created_gte,
                "created_lte": created_lte,
                "endpoint": endpoint,
                "event": event,
                "status": status,
            },
            options=options,
        )
        return list_page(self._transport, Delivery, call)

    def get(self, delivery_id: str, **options: Unpack[RequestOptions]) -> Delivery:
        """Get a delivery.

        The delivery with its attempts.

        Scope: `webhooks:read`.
        """

        call = Call(
            "GET",
            f"/deliveries/{segment(delivery_id)}",
            options=options,
        )
        return self._transport.send(call, json_reader(Delivery))

    def redeliver(self, delivery_id: str, **options: Unpack[WriteOptions]) -> Delivery:
        """Send a delivery again.

        Sends it at once. A delivery that has ended gets all its attempts again.

        Scope: `webhooks:write`.
        """

        call = Call(
            "POST",
            f"/deliveries/{segment(delivery_id)}/redeliver",
            body={},
            options=options,
        )
        return self._transport.send(call, json_reader(Delivery))


class DeliveriesWithRawResponse:
    def __init__(self, transport: Transport) -> None:
        resource = DeliveriesResource(RawTransport(transport.core, transport.client, transport.sleep))
        self.list = raw_response(resource.list)
        self.get = raw_response(resource.get)
        self.redeliver = raw_response(resource.redeliver)


class AsyncDeliveriesResource:
    """Where each event was sent, and the result of each attempt."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @cached_property
    def with_raw_response(self) -> AsyncDeliveriesWithRawResponse:
        """The same methods, which return the reply with its status and headers; `parse()` makes the record of it."""
        return AsyncDeliveriesWithRawResponse(self._transport)

    def list(
        self,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
        created_gte: Moment | None = None,
        created_lte: Moment | None = None,
        endpoint: str | None = None,
        event: str | None = None,
        status: DeliveryStatus | None = None,
        **options: Unpack[RequestOptions],
    ) -> AsyncPager[Delivery]:
        """List deliveries.

        Newest first.

        Scope: `webhooks:read`.

        - `limit`: How many records, 1 to 100.
        - `starting_after`: The `id` of the last record of the page before.
        - `ending_before`: The `id` of the first record of the page after: the page before it, newest first as well.
        - `created_gte`: Created at or after this ISO 8601 time, UTC; a date means its beginning.
        - `created_lte`: Created at or before this ISO 8601 time, UTC; a date means its end.
        - `endpoint`: Only those to this webhook.
        - `event`: Only those of this event.
        - `status`: Only those in this status.
        """

        call = Call(
            "GET",
            "/deliveries",
            query={
                "limit": limit,
                "starting_after": starting_after,
                "ending_before": ending_before,
                "created_gte": created_gte,
                "created_lte": created_lte,
                "endpoint": endpoint,
                "event": event,
                "status": status,
            },
            options=options,
        )
        return list_pages(self._transport, Delivery, call)

    async def get(self, delivery_id: str, **options: Unpack[RequestOptions]) -> Delivery:
        """Get a delivery.

        The delivery with its attempts.

        Scope: `webhooks:read`.
        """

        call = Call(
            "GET",
            f"/deliveries/{segment(delivery_id)}",
            options=options,
        )
        return await self._transport.send(call, json_reader(Delivery))

    async def redeliver(self, delivery_id: str, **options: Unpack[WriteOptions]) -> Delivery:
        """Send a delivery again.

        Sends it at once. A delivery that has ended gets all its attempts again.

        Scope: `webhooks:write`.
        """

        call = Call(
            "POST",
            f"/deliveries/{segment(delivery_id)}/redeliver",
            body={},
            options=options,
        )
        return await self._transport.send(call, json_reader(Delivery))


class AsyncDeliveriesWithRawResponse:
    def __init__(self, transport: AsyncTransport) -> None:
        resource = AsyncDeliveriesResource(AsyncRawTransport(transport.core, transport.client, transport.sleep))
        self.list = async_raw_response(resource.list)
        self.get = async_raw_response(resource.get)
        self.redeliver = async_raw_response(resource.redeliver)
