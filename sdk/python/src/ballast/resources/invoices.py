"""InvoicesResource of the clients. Generated from docs/openapi.json by sdk/generator."""

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
from ballast.models import Invoice, InvoiceKind, Moment


class InvoicesResource:
    """Monthly invoices for fees, and credit notes. They never change."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @cached_property
    def with_raw_response(self) -> InvoicesWithRawResponse:
        """The same methods, which return the reply with its status and headers; `parse()` makes the record of it."""
        return InvoicesWithRawResponse(self._transport)

    def list(
        self,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
        created_gte: Moment | None = None,
        created_lte: Moment | None = None,
        kind: InvoiceKind | None = None,
        **options: Unpack[RequestOptions],
    ) -> Page[Invoice]:
        """List invoices.

        Invoices for fees, and credit notes for returned fees. Newest first.

        Scope: `settlements:read`.

        - `limit`: How many records, 1 to 100.
        - `starting_after`: The `id` of the last record of the page before.
        - `ending_before`: The `id` of the first record of the page after: the page before it, newest first as well.
        - `created_gte`: Created at or after this ISO 8601 time, UTC; a date means its beginning.
        - `created_lte`: Created at or before this ISO 8601 time, UTC; a date means its end.
        - `kind`: Only this kind.
        """

        call = Call(
            "GET",
            "/invoices",
            query={
                "limit": limit,
                "starting_after": starting_after,
                "ending_before": ending_before,
                "created_gte": created_gte,
                "created_lte": created_lte,
                "kind": kind,
            },
            options=options,
        )
        return list_page(self._transport, Invoice, call)

    def get(self, invoice_id: str, **options: Unpack[RequestOptions]) -> Invoice:
        """Get an invoice.

        An invoice or credit note, as it was issued. `format` chooses a file instead.

        Scope: `settlements:read`.
        """

        call = Call(
            "GET",
            f"/invoices/{segment(invoice_id)}",
            options=options,
        )
        return self._transport.send(call, json_reader(Invoice))

    def download(
        self,
        invoice_id: str,
        *,
        format: Literal[
            "csv",
            "pdf",
        ],
        **options: Unpack[RequestOptions],
    ) -> bytes:
        """Get an invoice, as a file."""
        call = Call(
            "GET",
            f"/invoices/{segment(invoice_id)}",
            query={
                "format": format,
            },
            options=options,
        )
        return self._transport.send(call, read_bytes)


class InvoicesWithRawResponse:
    def __init__(self, transport: Transport) -> None:
        resource = InvoicesResource(RawTransport(transport.core, transport.client, transport.sleep))
        self.list = raw_response(resource.list)
        self.get = raw_response(resource.get)
        self.download = raw_response(resource.download)


class AsyncInvoicesResource:
    """Monthly invoices for fees, and credit notes. They never change."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @cached_property
    def with_raw_response(self) -> AsyncInvoicesWithRawResponse:
        """The same methods, which return the reply with its status and headers; `parse()` makes the record of it."""
        return AsyncInvoicesWithRawResponse(self._transport)

    def list(
        self,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
        created_gte: Moment | None = None,
        created_lte: Moment | None = None,
        kind: InvoiceKind | None = None,
        **options: Unpack[RequestOptions],
    ) -> AsyncPager[Invoice]:
        """List invoices.

        Invoices for fees, and credit notes for returned fees. Newest first.

        Scope: `settlements:read`.

        - `limit`: How many records, 1 to 100.
        - `starting_after`: The `id` of the last record of the page before.
        - `ending_before`: The `id` of the first record of the page after: the page before it, newest first as well.
        - `created_gte`: Created at or after this ISO 8601 time, UTC; a date means its beginning.
        - `created_lte`: Created at or before this ISO 8601 time, UTC; a date means its end.
        - `kind`: Only this kind.
        """

        call = Call(
            "GET",
            "/invoices",
            query={
                "limit": limit,
                "starting_after": starting_after,
                "ending_before": ending_before,
                "created_gte": created_gte,
                "created_lte": created_lte,
                "kind": kind,
            },
            options=options,
        )
        return list_pages(self._transport, Invoice, call)

    async def get(self, invoice_id: str, **options: Unpack[RequestOptions]) -> Invoice:
        """Get an invoice.

        An invoice or credit note, as it was issued. `format` chooses a file instead.

        Scope: `settlements:read`.
        """

        call = Call(
            "GET",
            f"/invoices/{segment(invoice_id)}",
            options=options,
        )
        return await self._transport.send(call, json_reader(Invoice))

    async def download(
        self,
        invoice_id: str,
        *,
        format: Literal[
            "csv",
            "pdf",
        ],
        **options: Unpack[RequestOptions],
    ) -> bytes:
        """Get an invoice, as a file."""
        call = Call(
            "GET",
            f"/invoices/{segment(invoice_id)}",
            query={
                "format": format,
            },
            options=options,
        )
        return await self._transport.send(call, read_bytes)


class AsyncInvoicesWithRawResponse:
    def __init__(self, transport: AsyncTransport) -> None:
        resource = AsyncInvoicesResource(AsyncRawTransport(transport.core, transport.client, transport.sleep))
        self.list = async_raw_response(resource.list)
        self.get = async_raw_response(resource.get)
        self.download = async_raw_response(resource.download)
