"""StatementsResource of the clients. Generated from docs/openapi.json by sdk/generator."""

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
from ballast.models import Currency, Month, MonthlyStatement


class StatementsResource:
    """What changed your money in a month, settled or not."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @cached_property
    def with_raw_response(self) -> StatementsWithRawResponse:
        """The same methods, which return the reply with its status and headers; `parse()` makes the record of it."""
        return StatementsWithRawResponse(self._transport)

    def list(
        self,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
        **options: Unpack[RequestOptions],
    ) -> Page[Month]:
        """List monthly statements.

        Every month since the merchant was opened, the one that runs first.

        Scope: `settlements:read`.

        - `limit`: How many records, 1 to 100.
        - `starting_after`: The `month` of the last record of the page before.
        - `ending_before`: The `id` of the first record of the page after: the page before it, newest first as well.
        """

        call = Call(
            "GET",
            "/statements",
            query={
                "limit": limit,
                "starting_after": starting_after,
                "ending_before": ending_before,
            },
            options=options,
        )
        return list_page(self._transport, Month, call)

    def get(
        self, month: str, *, currency: Currency | None = None, **options: Unpack[RequestOptions]
    ) -> MonthlyStatement:
        """Get a monthly statement.

        Everything that changed your money in a month, settled or not: for each account and coin opening balance,
        entries and closing balance, which is the next month's opening balance. `format` chooses a file instead; the
        PDF has 2,000 entries at most.

        Scope: `settlements:read`.

        - `currency`: Values balances and entries, beside your settlement currency. Unless given, that of invoices.
        """

        call = Call(
            "GET",
            f"/statements/{segment(month)}",
            query={
                "currency": currency,
            },
            options=options,
        )
        return self._transport.send(call, json_reader(MonthlyStatement))

    def download(
        self,
        month: str,
        *,
        currency: Currency | None = None,
        format: Literal[
            "csv",
            "pdf",
        ],
        **options: Unpack[RequestOptions],
    ) -> bytes:
        """Get a monthly statement, as a file."""
        call = Call(
            "GET",
            f"/statements/{segment(month)}",
            query={
                "currency": currency,
                "format": format,
            },
            options=options,
        )
        return self._transport.send(call, read_bytes)


class StatementsWithRawResponse:
    def __init__(self, transport: Transport) -> None:
        resource = StatementsResource(RawTransport(transport.core, transport.client, transport.sleep))
        self.list = raw_response(resource.list)
        self.get = raw_response(resource.get)
        self.download = raw_response(resource.download)


class AsyncStatementsResource:
    """What changed your money in a month, settled or not."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @cached_property
    def with_raw_response(self) -> AsyncStatementsWithRawResponse:
        """The same methods, which return the reply with its status and headers; `parse()` makes the record of it."""
        return AsyncStatementsWithRawResponse(self._transport)

    def list(
        self,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
        **options: Unpack[RequestOptions],
    ) -> AsyncPager[Month]:
        """List monthly statements.

        Every month since the merchant was opened, the one that runs first.

        Scope: `settlements:read`.

        - `limit`: How many records, 1 to 100.
        - `starting_after`: The `month` of the last record of the page before.
        - `ending_before`: The `id` of the first record of the page after: the page before it, newest first as well.
        """

        call = Call(
            "GET",
            "/statements",
            query={
                "limit": limit,
                "starting_after": starting_after,
                "ending_before": ending_before,
            },
            options=options,
        )
        return list_pages(self._transport, Month, call)

    async def get(
        self, month: str, *, currency: Currency | None = None, **options: Unpack[RequestOptions]
    ) -> MonthlyStatement:
        """Get a monthly statement.

        Everything that changed your money in a month, settled or not: for each account and coin opening balance,
        entries and closing balance, which is the next month's opening balance. `format` chooses a file instead; the
        PDF has 2,000 entries at most.

        Scope: `settlements:read`.

        - `currency`: Values balances and entries, beside your settlement currency. Unless given, that of invoices.
        """

        call = Call(
            "GET",
            f"/statements/{segment(month)}",
            query={
                "currency": currency,
            },
            options=options,
        )
        return await self._transport.send(call, json_reader(MonthlyStatement))

    async def download(
        self,
        month: str,
        *,
        currency: Currency | None = None,
        format: Literal[
            "csv",
            "pdf",
        ],
        **options: Unpack[RequestOptions],
    ) -> bytes:
        """Get a monthly statement, as a file."""
        call = Call(
            "GET",
            f"/statements/{segment(month)}",
            query={
                "currency": currency,
                "format": format,
            },
            options=options,
        )
        return await self._transport.send(call, read_bytes)


class AsyncStatementsWithRawResponse:
    def __init__(self, transport: AsyncTransport) -> None:
        resource = AsyncStatementsResource(AsyncRawTransport(transport.core, transport.client, transport.sleep))
        self.list = async_raw_response(resource.list)
        self.get = async_raw_response(resource.get)
        self.download = async_raw_response(resource.download)
