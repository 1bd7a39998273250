"""RequestsResource of the clients. Generated from docs/openapi.json by sdk/generator."""

from __future__ import annotations

from functools import cached_property
from typing import Unpack

from ballast._core import Call, RequestOptions
from ballast._pages import AsyncPager, Page, list_page, list_pages
from ballast._transport import (
    AsyncRawTransport,
    AsyncTransport,
    RawTransport,
    Transport,
    async_raw_response,
    raw_response,
)
from ballast.models import Moment, RequestLogEntry, RequestMethod, RequestStatus


class RequestsResource:
    """What your keys asked the API for, and how it was answered."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @cached_property
    def with_raw_response(self) -> RequestsWithRawResponse:
        """The same methods, which return the reply with its status and headers; `parse()` makes the record of it."""
        return RequestsWithRawResponse(self._transport)

    def list(
        self,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
        created_gte: Moment | None = None,
        created_lte: Moment | None = None,
        status: RequestStatus | None = None,
        method: RequestMethod | None = None,
        path: str | None = None,
        key: str | None = None,
        request_id: str | None = None,
        **options: Unpack[RequestOptions],
    ) -> Page[RequestLogEntry]:
        """List requests.

        The requests that your keys made, newest first, without their bodies. They appear within a second and are
        kept for as long as the service's operator chooses. With `path`, `method`, `key` or `status=2xx` the newest
        20,000 requests before `created_lte` are looked through. Reading this list is logged only where it is
        refused.

        Scope: `requests:read`.

        - `limit`: How many records, 1 to 100.
        - `starting_after`: The `id` of the last record of the page before.
        - `ending_before`: The `id` of the first record of the page after: the page before it, newest first as well.
        - `created_gte`: Created at or after this ISO 8601 time, UTC; a date means its beginning.
        - `created_lte`: Created at or before this ISO 8601 time, UTC; a date means its end.
        - `status`: Only those answered so; `error` is 4xx and 5xx.
        - `method`: Only those with this method.
        - `path`: Only those whose path contains this.
        - `key`: Only those with this public key.
        - `request_id`: Only the one with this `X-Request-Id`, as an error has it.
        """

        call = Call(
            "GET",
            "/requests",
            query={
                "limit": limit,
                "starting_after": starting_after,
                "ending_before": ending_before,
                "created_gte": created_gte,
                "created_lte": created_lte,
                "status": status,
                "method": method,
                "path": path,
                "key": key,
                "request_id": request_id,
            },
            options=options,
        )
        return list_page(self._transport, RequestLogEntry, call)


class RequestsWithRawResponse:
    def __init__(self, transport: Transport) -> None:
        resource = RequestsResource(RawTransport(transport.core, transport.client, transport.sleep))
        self.list = raw_response(resource.list)


class AsyncRequestsResource:
    """What your keys asked the API for, and how it was answered."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @cached_property
    def with_raw_response(self) -> AsyncRequestsWithRawResponse:
        """The same methods, which return the reply with its status and headers; `parse()` makes the record of it."""
        return AsyncRequestsWithRawResponse(self._transport)

    def list(
        self,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
        created_gte: Moment | None = None,
        created_lte: Moment | None = None,
        status: RequestStatus | None = None,
        method: RequestMethod | None = None,
        path: str | None = None,
        key: str | None = None,
        request_id: str | None = None,
        **options: Unpack[RequestOptions],
    ) -> AsyncPager[RequestLogEntry]:
        """List requests.

        The requests that your keys made, newest first, without their bodies. They appear within a second and are
        kept for as long as the service's operator chooses. With `path`, `method`, `key` or `status=2xx` the newest
        20,000 requests before `created_lte` are looked through. Reading this list is logged only where it is
        refused.

        Scope: `requests:read`.

        - `limit`: How many records, 1 to 100.
        - `starting_after`: The `id` of the last record of the page before.
        - `ending_before`: The `id` of the first record of the page after: the page before it, newest first as well.
        - `created_gte`: Created at or after this ISO 8601 time, UTC; a date means its beginning.
        - `created_lte`: Created at or before this ISO 8601 time, UTC; a date means its end.
        - `status`: Only those answered so; `error` is 4xx and 5xx.
        - `method`: Only those with this method.
        - `path`: Only those whose path contains this.
        - `key`: Only those with this public key.
        - `request_id`: Only the one with this `X-Request-Id`, as an error has it.
        """

        call = Call(
            "GET",
            "/requests",
            query={
                "limit": limit,
                "starting_after": starting_after,
                "ending_before": ending_before,
                "created_gte": created_gte,
                "created_lte": created_lte,
                "status": status,
                "method": method,
                "path": path,
                "key": key,
                "request_id": request_id,
            },
            options=options,
        )
        return list_pages(self._transport, RequestLogEntry, call)


class AsyncRequestsWithRawResponse:
    def __init__(self, transport: AsyncTransport) -> None:
        resource = AsyncRequestsResource(AsyncRawTransport(transport.core, transport.client, transport.sleep))
        self.list = async_raw_response(resource.list)
