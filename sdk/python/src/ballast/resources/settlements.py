"""SettlementsResource of the clients. Generated from docs/openapi.json by sdk/generator."""

from __future__ import annotations

from functools import cached_property
from typing import Literal, Unpack

from ballast._core import Call, RequestOptions, segment
from ballast._pages import AsyncPager, Page, list_page, list_pages
from ballast._transport import (
    AsyncRawTransport,
    AsyncTransport,
    RawTransport,
    Transport,
    async_raw_response,
    json_reader,
    raw_response,
    read_bytes,
)
from ballast.models import Moment, NextSettlements, Settlement, SettlementStatus, Statement


class SettlementsResource:
    """Payouts to your wallets, with their statements."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @cached_property
    def with_raw_response(self) -> SettlementsWithRawResponse:
        """The same methods, which return the reply with its status and headers; `parse()` makes the record of it."""
        return SettlementsWithRawResponse(self._transport)

    def list(
        self,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
        status: SettlementStatus | None = None,
        start_date: Moment | None = None,
        end_date: Moment | None = None,
        **options: Unpack[RequestOptions],
    ) -> Page[Settlement]:
        """List settlements.

        Newest first.

        Scope: `settlements:read`.

        - `limit`: How many records, 1 to 100.
        - `starting_after`: The `id` of the last record of the page before.
        - `ending_before`: The `id` of the first record of the page after: the page before it, newest first as well.
        - `status`: Only settlements in this status.
        - `start_date`: Created at or after this ISO 8601 date or time, UTC; a date means its beginning.
        - `end_date`: Created at or before this ISO 8601 date or time, UTC; a date means its end.
        """

        call = Call(
            "GET",
            "/settlements",
            query={
                "limit": limit,
                "starting_after": starting_after,
                "ending_before": ending_before,
                "status": status,
                "startDate": start_date,
                "endDate": end_date,
            },
            options=options,
        )
        return list_page(self._transport, Settlement, call)

    def upcoming(self, **options: Unpack[RequestOptions]) -> NextSettlements:
        """Preview the next settlements.

        What would be settled if the next run were now, and what would be left for a later one.

        Scope: `settlements:read`.
        """

        call = Call(
            "GET",
            "/settlements/next",
            options=options,
        )
        return self._transport.send(call, json_reader(NextSettlements))

    def get(self, settlement_id: str, **options: Unpack[RequestOptions]) -> Settlement:
        """Get a settlement.

        The settlement as it is now.

        Scope: `settlements:read`.
        """

        call = Call(
            "GET",
            f"/settlements/{segment(settlement_id)}",
            options=options,
        )
        return self._transport.send(call, json_reader(Settlement))

    def statement(self, settlement_id: str, **options: Unpack[RequestOptions]) -> Statement:
        """Get the statement of a settlement.

        Every payment, refund and fee that the settlement is made of; they add up to its amount. `format` chooses
        a file for bookkeeping instead.

        Scope: `settlements:read`.
        """

        call = Call(
            "GET",
            f"/settlements/{segment(settlement_id)}/statement",
            options=options,
        )
        return self._transport.send(call, json_reader(Statement))

    def download_statement(
        self, settlement_id: str, *, format: Literal["csv",], **options: Unpack[RequestOptions]
    ) -> bytes:
        """Get the statement of a settlement, as a file."""
        call = Call(
            "GET",
            f"/settlements/{segment(settlement_id)}/statement",
            query={
                "format": format,
            },
            options=options,
        )
        return self._transport.send(call, read_bytes)


class SettlementsWithRawResponse:
    def __init__(self, transport: Transport) -> None:
        resource = SettlementsResource(RawTransport(transport.core, transport.client, transport.sleep))
        self.list = raw_response(resource.list)
        self.upcoming = raw_response(resource.upcoming)
        self.get = raw_response(resource.get)
        self.statement = raw_response(resource.statement)
        self.download_statement = raw_response(resource.download_statement)


class AsyncSettlementsResource:
    """Payouts to your wallets, with their statements."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @cached_property
    def with_raw_response(self) -> AsyncSettlementsWithRawResponse:
        """The same methods, which return the reply with its status and headers; `parse()` makes the record of it."""
        return AsyncSettlementsWithRawResponse(self._transport)

    def list(
        self,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
        status: SettlementStatus | None = None,
        start_date: Moment | None = None,
        end_date: Moment | None = None,
        **options: Unpack[RequestOptions],
    ) -> AsyncPager[Settlement]:
        """List settlements.

        Newest first.

        Scope: `settlements:read`.

        - `limit`: How many records, 1 to 100.
        - `starting_after`: The `id` of the last record of the page before.
        - `ending_before`: The `id` of the first record of the page after: the page before it, newest first as well.
        - `status`: Only settlements in this status.
        - `start_date`: Created at or after this ISO 8601 date or time, UTC; a date means its beginning.
        - `end_date`: Created at or before this ISO 8601 date or time, UTC; a date means its end.
        """

        call = Call(
            "GET",
            "/settlements",
            query={
                "limit": limit,
                "starting_after": starting_after,
                "ending_before": ending_before,
                "status": status,
                "startDate": start_date,
                "endDate": end_date,
            },
            options=options,
        )
        return list_pages(self._transport, Settlement, call)

    async def upcoming(self, **options: Unpack[RequestOptions]) -> NextSettlements:
        """Preview the next settlements.

        What would be settled if the next run were now, and what would be left for a later one.

        Scope: `settlements:read`.
        """

        call = Call(
            "GET",
            "/settlements/next",
            options=options,
        )
        return await self._transport.send(call, json_reader(NextSettlements))

    async def get(self, settlement_id: str, **options: Unpack[RequestOptions]) -> Settlement:
        """Get a settlement.

        The settlement as it is now.

        Scope: `settlements:read`.
        """

        call = Call(
            "GET",
            f"/settlements/{segment(settlement_id)}",
            options=options,
        )
        return await self._transport.send(call, json_reader(Settlement))

    async def statement(self, settlement_id: str, **options: Unpack[RequestOptions]) -> Statement:
        """Get the statement of a settlement.

        Every payment, refund and fee that the settlement is made of; they add up to its amount. `format` chooses
        a file for bookkeeping instead.

        Scope: `settlements:read`.
        """

        call = Call(
            "GET",
            f"/settlements/{segment(settlement_id)}/statement",
            options=options,
        )
        return await self._transport.send(call, json_reader(Statement))

    async def download_statement(
        self, settlement_id: str, *, format: Literal["csv",], **options: Unpack[RequestOptions]
    ) -> bytes:
        """Get the statement of a settlement, as a file."""
        call = Call(
            "GET",
            f"/settlements/{segment(settlement_id)}/statement",
            query={
                "format": format,
            },
            options=options,
        )
        return await self._transport.send(call, read_bytes)


class AsyncSettlementsWithRawResponse:
    def __init__(self, transport: AsyncTransport) -> None:
        resource = AsyncSettlementsResource(AsyncRawTransport(transport.core, transport.client, transport.sleep))
        self.list = async_raw_response(resource.list)
        self.upcoming = async_raw_response(resource.upcoming)
        self.get = async_raw_response(resource.get)
        self.statement = async_raw_response(resource.statement)
        self.download_statement = async_raw_response(resource.download_statement)
