"""Pages of lists. Walking over one fetches those that follow."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from typing import Any, Generic, TypeVar

import httpx

from ballast._core import Call
from ballast._transport import AsyncTransport, Transport, json_of

T = TypeVar("T")
LARGEST_PAGE = 100


class BasePage(Generic[T]):
    """`data` of one page; `total_count` is exact, or exact up to where the reference says it ends."""

    def __init__(self, type_: Callable[..., T], response: httpx.Response, call: Call) -> None:
        found = json_of(response)
        make = getattr(type_, "from_json", type_)
        self.data: list[T] = [make(one) for one in found["data"]]
        self.has_more: bool = found["hasMore"]
        self.total_count: int = found["totalCount"]
        self._call = call
        # A list that ends before a record goes on to newer ones, from its first record.
        self._direction = "ending_before" if call.query.get("ending_before") else "starting_after"
        edge = found["data"][0 if self._direction == "ending_before" else -1] if found["data"] else {}
        self._cursor: str | None = edge.get("id") or edge.get("month")

    def __repr__(self) -> str:
        more = ", more follow" if self.has_more else ""
        return f"<{type(self).__name__} of {len(self.data)} of {self.total_count}{more}>"

    @property
    def _next(self) -> Call | None:
        if not self.has_more or self._cursor is None:
            return None
        query = {**self._call.query, self._direction: self._cursor}
        if query.get("limit") is None:
            query["limit"] = LARGEST_PAGE  # who goes on wants them all, in few requests
        return dataclasses.replace(self._call, query=query)


class Page(BasePage[T]):
    def __init__(self, type_: Callable[..., T], transport: Transport, response: httpx.Response, call: Call) -> None:
        super().__init__(type_, response, call)
        self._type = type_
        self._transport = transport

    def next_page(self) -> Page[T] | None:
        call = self._next
        return Page(self._type, self._transport, self._transport.exchange(call), call) if call else None

    def __iter__(self) -> Iterator[T]:
        page: Page[T] | None = self
        while page is not None:
            yield from page.data
            page = page.next_page()


class AsyncPage(BasePage[T]):
    def __init__(
        self, type_: Callable[..., T], transport: AsyncTransport, response: httpx.Response, call: Call
    ) -> None:
        super().__init__(type_, response, call)
        self._type = type_
        self._transport = transport

    async def next_page(self) -> AsyncPage[T] | None:
        call = self._next
        return AsyncPage(self._type, self._transport, await self._transport.exchange(call), call) if call else None

    async def __aiter__(self) -> AsyncIterator[T]:
        page: AsyncPage[T] | None = self
        while page is not None:
            for one in page.data:
                yield one
            page = await page.next_page()


class AsyncPager(Awaitable[AsyncPage[T]]):
    """`await` gives the first page, `async for` all records. It asks nothing before."""

    def __init__(self, send: Callable[[], Awaitable[AsyncPage[T]]]) -> None:
        self._send = send

    def __await__(self) -> Generator[Any, Any, AsyncPage[T]]:
        return self._send().__await__()

    async def __aiter__(self) -> AsyncIterator[T]:
        async for one in await self._send():
            yield one


def list_page(transport: Transport, type_: Callable[..., T], call: Call) -> Page[T]:
    return transport.send(call, lambda response: Page(type_, transport, response, call))


def list_pages(transport: AsyncTransport, type_: Callable[..., T], call: Call) -> AsyncPager[T]:
    return AsyncPager(lambda: transport.send(call, lambda response: AsyncPage(type_, transport, response, call)))
