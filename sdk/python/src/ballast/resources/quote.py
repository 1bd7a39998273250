"""QuoteResource of the clients. Generated from docs/openapi.json by sdk/generator."""

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
from ballast.models import Cryptocurrency, Currency, Network, Quote


class QuoteResource:
    """What a price comes to in each coin, without a payment."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @cached_property
    def with_raw_response(self) -> QuoteWithRawResponse:
        """The same methods, which return the reply with its status and headers; `parse()` makes the record of it."""
        return QuoteWithRawResponse(self._transport)

    def get(
        self,
        *,
        amount: str,
        currency: Currency,
        cryptocurrency: Cryptocurrency | None = None,
        network: Network | None = None,
        **options: Unpack[RequestOptions],
    ) -> Quote:
        """Get a quote.

        What a price comes to in each coin on each network now, with about what the payer's wallet pays the
        network and how long it takes. Nothing is stored or held: a payment is quoted when it is created.

        Scope: `payments:read`.

        - `amount`: The price, in the currency.
        - `currency`: ISO 4217 code of the price's currency.
        - `cryptocurrency`: Only this coin.
        - `network`: Only this network.
        """

        call = Call(
            "GET",
            "/quote",
            query={
                "amount": amount,
                "currency": currency,
                "cryptocurrency": cryptocurrency,
                "network": network,
            },
            options=options,
        )
        return self._transport.send(call, json_reader(Quote))


class QuoteWithRawResponse:
    def __init__(self, transport: Transport) -> None:
        resource = QuoteResource(RawTransport(transport.core, transport.client, transport.sleep))
        self.get = raw_response(resource.get)


class AsyncQuoteResource:
    """What a price comes to in each coin, without a payment."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @cached_property
    def with_raw_response(self) -> AsyncQuoteWithRawResponse:
        """The same methods, which return the reply with its status and headers; `parse()` makes the record of it."""
        return AsyncQuoteWithRawResponse(self._transport)

    async def get(
        self,
        *,
        amount: str,
        currency: Currency,
        cryptocurrency: Cryptocurrency | None = None,
        network: Network | None = None,
        **options: Unpack[RequestOptions],
    ) -> Quote:
        """Get a quote.

        What a price comes to in each coin on each network now, with about what the payer's wallet pays the
        network and how long it takes. Nothing is stored or held: a payment is quoted when it is created.

        Scope: `payments:read`.

        - `amount`: The price, in the currency.
        - `currency`: ISO 4217 code of the price's currency.
        - `cryptocurrency`: Only this coin.
        - `network`: Only this network.
        """

        call = Call(
            "GET",
            "/quote",
            query={
                "amount": amount,
                "currency": currency,
                "cryptocurrency": cryptocurrency,
                "network": network,
            },
            options=options,
        )
        return await self._transport.send(call, json_reader(Quote))


class AsyncQuoteWithRawResponse:
    def __init__(self, transport: AsyncTransport) -> None:
        resource = AsyncQuoteResource(AsyncRawTransport(transport.core, transport.client, transport.sleep))
        self.get = async_raw_response(resource.get)
