"""EventsResource of the clients. Generated from docs/openapi.json by sdk/generator."""

from __future__ import annotations

from functools import cached_property
from typing import Unpack

from ballast._core import Call, RequestOptions, segment
from ballast._pages import AsyncPager, Page, list_page, list_pages
from ballast._transport import (
    AsyncRawTransport,
    AsyncTransport,
    RawTransport,
    Transport,
    async_raw_response,
    raw_response,
    read_event,
)
from ballast.events import Event, parse_event
from ballast.models import EventType, Moment


class EventsResource:
    """Everything that happened, whether or not a webhook was sent it."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @cached_property
    def with_raw_response(self) -> EventsWithRawResponse:
        """The same methods, which return the reply with its status and headers; `parse()` makes the record of it."""
        return EventsWithRawResponse(self._transport)

    def list(
        self,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
        created_gte: Moment | None = None,
        created_lte: Moment | None = None,
        type: EventType | None = None,
        **options: Unpack[RequestOptions],
    ) -> Page[Event]:
        """List events.

        Everything that happened, whether or not any webhook was sent it. Newest first.

        Scope: `webhooks:read`.

        - `limit`: How many records, 1 to 100.
        - `starting_after`: The `id` of the last record of the page before.
        - `ending_before`: The `id` of the first record of the page after: the page before it, newest first as well.
        - `created_gte`: Created at or after this ISO 8601 time, UTC; a date means its beginning.
        - `created_lte`: Created at or before this ISO 8601 time, UTC; a date means its end.
        - `type`: Only events of this type.
        """

        call = Call(
            "GET",
            "/events",
            query={
                "limit": limit,
                "starting_after": starting_after,
                "ending_before": ending_before,
                "created_gte": created_gte,
                "created_lte": created_lte,
                "type": type,
            },
            options=options,
        )
        return list_page(self._transport, parse_event, call)

    def get(self, event_id: str, **options: Unpack[RequestOptions]) -> Event:
        """Get an event.

        The event, with its record as it was then.

        Scope: `webhooks:read`.
        """

        call = Call(
            "GET",
            f"/events/{segment(event_id)}",
            options=options,
        )
        return self._transport.send(call, read_event)


class EventsWithRawResponse:
    def __init__(self, transport: Transport) -> None:
        resource = EventsResource(RawTransport(transport.core, transport.client, transport.sleep))
        self.list = raw_response(resource.list)
        self.get = raw_response(resource.get)


class AsyncEventsResource:
    """Everything that happened, whether or not a webhook was sent it."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @cached_property
    def with_raw_response(self) -> AsyncEventsWithRawResponse:
        """The same methods, which return the reply with its status and headers; `parse()` makes the record of it."""
        return AsyncEventsWithRawResponse(self._transport)

    def list(
        self,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
        created_gte: Moment | None = None,
        created_lte: Moment | None = None,
        type: EventType | None = None,
        **options: Unpack[RequestOptions],
    ) -> AsyncPager[Event]:
        """List events.

        Everything that happened, whether or not any webhook was sent it. Newest first.

        Scope: `webhooks:read`.

        - `limit`: How many records, 1 to 100.
        - `starting_after`: The `id` of the last record of the page before.
        - `ending_before`: The `id` of the first record of the page after: the page before it, newest first as well.
        - `created_gte`: Created at or after this ISO 8601 time, UTC; a date means its beginning.
        - `created_lte`: Created at or before this ISO 8601 time, UTC; a date means its end.
        - `type`: Only events of this type.
        """

        call = Call(
            "GET",
            "/events",
            query={
                "limit": limit,
                "starting_after": starting_after,
                "ending_before": ending_before,
                "created_gte": created_gte,
                "created_lte": created_lte,
                "type": type,
            },
            options=options,
        )
        return list_pages(self._transport, parse_event, call)

    async def get(self, event_id: str, **options: Unpack[RequestOptions]) -> Event:
        """Get an event.

        The event, with its record as it was then.

        Scope: `webhooks:read`.
        """

        call = Call(
            "GET",
            f"/events/{segment(event_id)}",
            options=options,
        )
        return await self._transport.send(call, read_event)


class AsyncEventsWithRawResponse:
    def __init__(self, transport: AsyncTransport) -> None:
        resource = AsyncEventsResource(AsyncRawTransport(transport.core, transport.client, transport.sleep))
        self.list = async_raw_response(resource.list)
        self.get = async_raw_response(resource.get)
