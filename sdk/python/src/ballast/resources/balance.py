"""BalanceResource of the clients. Generated from docs/openapi.json by sdk/generator."""

from __future__ import annotations

from functools import cached_property
from typing import Unpack

from ballast._core import Call, RequestOptions
from ballast._transport import (
    AsyncRawTransport,
    AsyncTransport,
    RawTransport,
    Transport,
    async_raw_response,
    json_reader,
    raw_response,
)
from ballast.models import Balance, Moment


class BalanceResource:
    """Your money, and what waits for a decision."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @cached_property
    def with_raw_response(self) -> BalanceWithRawResponse:
        """The same methods, which return the reply with its status and headers; `parse()` makes the record of it."""
        return BalanceWithRawResponse(self._transport)

    def get(self, *, at: Moment | None = None, **options: Unpack[RequestOptions]) -> Balance:
        """Get the balance.

        By coin and network, as it is now or as it was at an instant.

        Scope: `merchant:read`.

        - `at`: The balance as it was at this ISO 8601 time, UTC; a date means its end. Left out, as it is now.
        """

        call = Call(
            "GET",
            "/balance",
            query={
                "at": at,
            },
            options=options,
        )
        return self._transport.send(call, json_reader(Balance))


class BalanceWithRawResponse:
    def __init__(self, transport: Transport) -> None:
        resource = BalanceResource(RawTransport(transport.core, transport.client, transport.sleep))
        self.get = raw_response(resource.get)


class AsyncBalanceResource:
    """Your money, and what waits for a decision."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @cached_property
    def with_raw_response(self) -> AsyncBalanceWithRawResponse:
        """The same methods, which return the reply with its status and headers; `parse()` makes the record of it."""
        return AsyncBalanceWithRawResponse(self._transport)

    async def get(self, *, at: Moment | None = None, **options: Unpack[RequestOptions]) -> Balance:
        """Get the balance.

        By coin and network, as it is now or as it was at an instant.

        Scope: `merchant:read`.

        - `at`: The balance as it was at this ISO 8601 time, UTC; a date means its end. Left out, as it is now.
        """

        call = Call(
            "GET",
            "/balance",
            query={
                "at": at,
            },
            options=options,
        )
        return await self._transport.send(call, json_reader(Balance))


class AsyncBalanceWithRawResponse:
    def __init__(self, transport: AsyncTransport) -> None:
        resource = AsyncBalanceResource(AsyncRawTransport(transport.core, transport.client, transport.sleep))
        self.get = async_raw_response(resource.get)
