"""Sends what the core says, with or without asyncio."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Awaitable, Callable
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar, cast

import httpx

from ballast._core import Call, Core
from ballast._errors import ApiConnectionError
from ballast._json import loads
from ballast._models import decode
from ballast.events import Event, parse_event

T = TypeVar("T")
P = ParamSpec("P")
Read: TypeAlias = Callable[[httpx.Response], T]
"""What makes of a reply what a method returns."""


def json_reader(type_: Callable[..., T]) -> Read[T]:
    """What makes this type of a reply."""
    return functools.partial(_read_json, type_)


def _read_json(type_: Any, response: httpx.Response) -> Any:
    return decode(type_, json_of(response))


def json_of(response: httpx.Response) -> Any:
    try:
        return loads(response.content)
    except ValueError as error:
        raise ApiConnectionError(f"{response.request.url} replied with something that is no JSON") from error


def read_event(response: httpx.Response) -> Event:
    return parse_event(json_of(response))


def read_bytes(response: httpx.Response) -> bytes:
    return response.content


class RawResponse(Generic[T]):
    """A reply as it came, and what it means."""

    def __init__(self, response: httpx.Response, read: Read[T]) -> None:
        self.http_response = response
        self._read = read

    @property
    def status(self) -> int:
        return self.http_response.status_code

    @property
    def headers(self) -> httpx.Headers:
        return self.http_response.headers

    @property
    def request_id(self) -> str | None:
        found: str | None = self.http_response.headers.get("X-Request-Id")
        return found

    @property
    def content(self) -> bytes:
        return self.http_response.content

    def parse(self) -> T:
        return self._read(self.http_response)


class Transport:
    def __init__(self, core: Core, client: httpx.Client, sleep: Callable[[float], None] = time.sleep) -> None:
        self.core = core
        self.client = client
        self.sleep = sleep

    def send(self, call: Call, read: Read[T]) -> T:
        return read(self.exchange(call))

    def exchange(self, call: Call) -> httpx.Response:
        steps = self.core.exchange(call)
        try:
            step = next(steps)
            while True:
                if isinstance(step, float):
                    self.sleep(step)
                    step = next(steps)
                    continue
                try:
                    response = self.client.send(step, follow_redirects=False)
                except httpx.RequestError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(response)
        except StopIteration as done:
            return cast("httpx.Response", done.value)


class RawTransport(Transport):
    """Returns the reply itself; raw_response() gives the methods of its resource their type."""

    def send(self, call: Call, read: Read[T]) -> T:
        return cast("T", RawResponse(self.exchange(call), read))


class AsyncTransport:
    def __init__(
        self, core: Core, client: httpx.AsyncClient, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self.core = core
        self.client = client
        self.sleep = sleep

    async def send(self, call: Call, read: Read[T]) -> T:
        return read(await self.exchange(call))

    async def exchange(self, call: Call) -> httpx.Response:
        steps = self.core.exchange(call)
        try:
            step = next(steps)
            while True:
                if isinstance(step, float):
                    await self.sleep(step)
                    step = next(steps)
                    continue
                try:
                    response = await self.client.send(step, follow_redirects=False)
                except httpx.RequestError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(response)
        except StopIteration as done:
            return cast("httpx.Response", done.value)


class AsyncRawTransport(AsyncTransport):
    async def send(self, call: Call, read: Read[T]) -> T:
        return cast("T", RawResponse(await self.exchange(call), read))


def raw_response(method: Callable[P, T]) -> Callable[P, RawResponse[T]]:
    """The method of a resource whose transport is raw, by its true type."""
    return cast("Callable[P, RawResponse[T]]", method)


def async_raw_response(method: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[RawResponse[T]]]:
    return cast("Callable[P, Awaitable[RawResponse[T]]]", method)
