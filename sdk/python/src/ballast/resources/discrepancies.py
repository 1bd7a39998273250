"""DiscrepanciesResource of the clients. Generated from docs/openapi.json by sdk/generator."""

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
from ballast.models import Discrepancy, DiscrepancyKind, DiscrepancyStatus, Moment


class DiscrepanciesResource:
    """Money that waits for your decision, over all payments."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @cached_property
    def with_raw_response(self) -> DiscrepanciesWithRawResponse:
        """The same methods, which return the reply with its status and headers; `parse()` makes the record of it."""
        return DiscrepanciesWithRawResponse(self._transport)

    def list(
        self,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
        created_gte: Moment | None = None,
        created_lte: Moment | None = None,
        status: DiscrepancyStatus | None = None,
        kind: DiscrepancyKind | None = None,
        **options: Unpack[RequestOptions],
    ) -> Page[Discrepancy]:
        """List all discrepancies.

        Money that came late, short, in surplus, in another coin or on the wrong network, over all payments,
        newest first. With `status=open` it is what waits for your decision.

        Scope: `payments:read`.

        - `limit`: How many records, 1 to 100.
        - `starting_after`: The `id` of the last record of the page before.
        - `ending_before`: The `id` of the first record of the page after: the page before it, newest first as well.
        - `created_gte`: Created at or after this ISO 8601 time, UTC; a date means its beginning.
        - `created_lte`: Created at or before this ISO 8601 time, UTC; a date means its end.
        - `status`: Only those in this status; `open` waits for you.
        - `kind`: Only those of this kind.
        """

        call = Call(
            "GET",
            "/discrepancies",
            query={
                "limit": limit,
                "starting_after": starting_after,
                "ending_before": ending_before,
                "created_gte": created_gte,
                "created_lte": created_lte,
                "status": status,
                "kind": kind,
            },
            options=options,
        )
        return list_page(self._transport, Discrepancy, call)


class DiscrepanciesWithRawResponse:
    def __init__(self, transport: Transport) -> None:
        resource = DiscrepanciesResource(RawTransport(transport.core, transport.client, transport.sleep))
        self.list = raw_response(resource.list)


class AsyncDiscrepanciesResource:
    """Money that waits for your decision, over all payments."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @cached_property
    def with_raw_response(self) -> AsyncDiscrepanciesWithRawResponse:
        """The same methods, which return the reply with its status and headers; `parse()` makes the record of it."""
        return AsyncDiscrepanciesWithRawResponse(self._transport)

    def list(
        self,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
        created_gte: Moment | None = None,
        created_lte: Moment | None = None,
        status: DiscrepancyStatus | None = None,
        kind: DiscrepancyKind | None = None,
        **options: Unpack[RequestOptions],
    ) -> AsyncPager[Discrepancy]:
        """List all discrepancies.

        Money that came late, short, in surplus, in another coin or on the wrong network, over all payments,
        newest first. With `status=open` it is what waits for your decision.

        Scope: `payments:read`.

        - `limit`: How many records, 1 to 100.
        - `starting_after`: The `id` of the last record of the page before.
        - `ending_before`: The `id` of the first record of the page after: the page before it, newest first as well.
        - `created_gte`: Created at or after this ISO 8601 time, UTC; a date means its beginning.
        - `created_lte`: Created at or before this ISO 8601 time, UTC; a date means its end.
        - `status`: Only those in this status; `open` waits for you.
        - `kind`: Only those of this kind.
        """

        call = Call(
            "GET",
            "/discrepancies",
            query={
                "limit": limit,
                "starting_after": starting_after,
                "ending_before": ending_before,
                "created_gte": created_gte,
                "created_lte": created_lte,
                "status": status,
                "kind": kind,
            },
            options=options,
        )
        return list_pages(self._transport, Discrepancy, call)


class AsyncDiscrepanciesWithRawResponse:
    def __init__(self, transport: AsyncTransport) -> None:
        resource = AsyncDiscrepanciesResource(AsyncRawTransport(transport.core, transport.client, transport.sleep))
        self.list = async_raw_response(resource.list)
