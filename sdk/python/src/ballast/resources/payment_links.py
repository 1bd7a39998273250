"""PaymentLinksResource of the clients. Generated from docs/openapi.json by sdk/generator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Unpack

from ballast._core import NOT_GIVEN, Call, NotGiven, RequestOptions, WriteOptions, segment
from ballast._json import named, number
from ballast._pages import AsyncPager, Page, list_page, list_pages
from ballast._transport import (
    AsyncRawTransport,
    AsyncTransport,
    RawTransport,
    Transport,
    async_raw_response,
    json_reader,
    raw_response,
)
from ballast.models import Amount, Cryptocurrency, Currency, Moment, PaymentLink, WalletsRequest


class PaymentLinksResource:
    """Pages on which payers make payments, as often as you allow."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @cached_property
    def with_raw_response(self) -> PaymentLinksWithRawResponse:
        """The same methods, which return the reply with its status and headers; `parse()` makes the record of it."""
        return PaymentLinksWithRawResponse(self._transport)

    def create(
        self,
        *,
        description: str,
        currency: Currency,
        merchant_wallets: WalletsRequest,
        amount: Amount | NotGiven | None = NOT_GIVEN,
        min_amount: Amount | NotGiven | None = NOT_GIVEN,
        max_amount: Amount | NotGiven | None = NOT_GIVEN,
        cryptocurrencies: Sequence[Cryptocurrency] | NotGiven | None = NOT_GIVEN,
        max_uses: int | NotGiven | None = NOT_GIVEN,
        expires_at: Moment | NotGiven | None = NOT_GIVEN,
        expires_in: int | NotGiven | None = NOT_GIVEN,
        redirect_url: str | NotGiven | None = NOT_GIVEN,
        note: str | NotGiven | None = NOT_GIVEN,
        metadata: Mapping[str, Any] | NotGiven | None = NOT_GIVEN,
        **options: Unpack[WriteOptions],
    ) -> PaymentLink:
        """Create a payment link.

        Makes a page on which payers choose the coin and the network, and pay as often as you allow.

        Scope: `payments:write`.

        - `description`: What it is for. Payers see it.
        - `currency`: ISO 4217 code of the price's currency.
        - `amount`: In the currency. Left out: the payer enters it.
        - `min_amount`: The least a payer may enter, where there is no `amount`.
        - `max_amount`: The most a payer may enter, where there is no `amount`.
        - `merchant_wallets`: Where settlements go, by network. The payer chooses among the networks that are named
          here.
        - `cryptocurrencies`: The coins that the payer chooses among. Left out: all that the networks take.
        - `max_uses`: How many payments it is good for. With 1 it is one payment whose coin the payer chooses.
        - `expires_at`: Until when payments can be made of it, ISO 8601, UTC; a date means its end.
        - `expires_in`: Seconds a payer has for each payment, once the coin is chosen. 1800 when it is left out.
        - `redirect_url`: Where payers may go on after success.
        - `note`: For yourself; payers do not see it.
        - `metadata`: Given to each payment.
        """

        call = Call(
            "POST",
            "/payment-links",
            body={
                "description": description,
                "currency": currency,
                "amount": number(amount),
                "minAmount": number(min_amount),
                "maxAmount": number(max_amount),
                "merchantWallets": named(merchant_wallets),
                "cryptocurrencies": cryptocurrencies,
                "maxUses": max_uses,
                "expiresAt": expires_at,
                "expiresIn": expires_in,
                "redirectUrl": redirect_url,
                "note": note,
                "metadata": metadata,
            },
            options=options,
        )
        return self._transport.send(call, json_reader(PaymentLink))

    def list(
        self,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
        created_gte: Moment | None = None,
        created_lte: Moment | None = None,
        **options: Unpack[RequestOptions],
    ) -> Page[PaymentLink]:
        """List payment links.

        Newest first.

        Scope: `payments:read`.

        - `limit`: How many records, 1 to 100.
        - `starting_after`: The `id` of the last record of the page before.
        - `ending_before`: The `id` of the first record of the page after: the page before it, newest first as well.
        - `created_gte`: Created at or after this ISO 8601 time, UTC; a date means its beginning.
        - `created_lte`: Created at or before this ISO 8601 time, UTC; a date means its end.
        """

        call = Call(
            "GET",
            "/payment-links",
            query={
                "limit": limit,
                "starting_after": starting_after,
                "ending_before": ending_before,
                "created_gte": created_gte,
                "created_lte": created_lte,
            },
            options=options,
        )
        return list_page(self._transport, PaymentLink, call)

    def get(self, link_id: str, **options: Unpack[RequestOptions]) -> PaymentLink:
        """Get a payment link.

        The link, with how many of its uses are taken.

        Scope: `payments:read`.
        """

        call = Call(
            "GET",
            f"/payment-links/{segment(link_id)}",
            options=options,
        )
        return self._transport.send(call, json_reader(PaymentLink))

    def update(
        self,
        link_id: str,
        *,
        enabled: bool | NotGiven | None = NOT_GIVEN,
        description: str | NotGiven | None = NOT_GIVEN,
        note: str | NotGiven | None = NOT_GIVEN,
        max_uses: int | NotGiven | None = NOT_GIVEN,
        expires_at: Moment | NotGiven | None = NOT_GIVEN,
        expires_in: int | NotGiven | None = NOT_GIVEN,
        redirect_url: str | NotGiven | None = NOT_GIVEN,
        metadata: Mapping[str, Any] | NotGiven | None = NOT_GIVEN,
        **options: Unpack[RequestOptions],
    ) -> PaymentLink:
        """Update a payment link.

        Changes what is given, and leaves the rest. Prices, coins and wallets stay: the link may be printed.

        Scope: `payments:write`.

        - `enabled`: Whether payments can be made of it.
        - `description`: What it is for. Payers see it.
        - `note`: For yourself; payers do not see it.
        - `max_uses`: Null: any number.
        - `expires_at`: Null: never.
        - `expires_in`: Seconds that the payer has.
        - `redirect_url`: Where the payer may go on after success.
        - `metadata`: Your own JSON object, as you sent it.
        """

        call = Call(
            "PATCH",
            f"/payment-links/{segment(link_id)}",
            body={
                "enabled": enabled,
                "description": description,
                "note": note,
                "maxUses": max_uses,
                "expiresAt": expires_at,
                "expiresIn": expires_in,
                "redirectUrl": redirect_url,
                "metadata": metadata,
            },
            options=options,
        )
        return self._transport.send(call, json_reader(PaymentLink))


class PaymentLinksWithRawResponse:
    def __init__(self, transport: Transport) -> None:
        resource = PaymentLinksResource(RawTransport(transport.core, transport.client, transport.sleep))
        self.create = raw_response(resource.create)
        self.list = raw_response(resource.list)
        self.get = raw_response(resource.get)
        self.update = raw_response(resource.update)


class AsyncPaymentLinksResource:
    """Pages on which payers make payments, as often as you allow."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @cached_property
    def with_raw_response(self) -> AsyncPaymentLinksWithRawResponse:
        """The same methods, which return the reply with its status and headers; `parse()` makes the record of it."""
        return AsyncPaymentLinksWithRawResponse(self._transport)

    async def create(
        self,
        *,
        description: str,
        currency: Currency,
        merchant_wallets: WalletsRequest,
        amount: Amount | NotGiven | None = NOT_GIVEN,
        min_amount: Amount | NotGiven | None = NOT_GIVEN,
        max_amount: Amount | NotGiven | None = NOT_GIVEN,
        cryptocurrencies: Sequence[Cryptocurrency] | NotGiven | None = NOT_GIVEN,
        max_uses: int | NotGiven | None = NOT_GIVEN,
        expires_at: Moment | NotGiven | None = NOT_GIVEN,
        expires_in: int | NotGiven | None = NOT_GIVEN,
        redirect_url: str | NotGiven | None = NOT_GIVEN,
        note: str | NotGiven | None = NOT_GIVEN,
        metadata: Mapping[str, Any] | NotGiven | None = NOT_GIVEN,
        **options: Unpack[WriteOptions],
    ) -> PaymentLink:
        """Create a payment link.

        Makes a page on which payers choose the coin and the network, and pay as often as you allow.

        Scope: `payments:write`.

        - `description`: What it is for. Payers see it.
        - `currency`: ISO 4217 code of the price's currency.
        - `amount`: In the currency. Left out: the payer enters it.
        - `min_amount`: The least a payer may enter, where there is no `amount`.
        - `max_amount`: The most a payer may enter, where there is no `amount`.
        - `merchant_wallets`: Where settlements go, by network. The payer chooses among the networks that are named
          here.
        - `cryptocurrencies`: The coins that the payer chooses among. Left out: all that the networks take.
        - `max_uses`: How many payments it is good for. With 1 it is one payment whose coin the payer chooses.
        - `expires_at`: Until when payments can be made of it, ISO 8601, UTC; a date means its end.
        - `expires_in`: Seconds a payer has for each payment, once the coin is chosen. 1800 when it is left out.
        - `redirect_url`: Where payers may go on after success.
        - `note`: For yourself; payers do not see it.
        - `metadata`: Given to each payment.
        """

        call = Call(
            "POST",
            "/payment-links",
            body={
                "description": description,
                "currency": currency,
                "amount": number(amount),
                "minAmount": number(min_amount),
                "maxAmount": number(max_amount),
                "merchantWallets": named(merchant_wallets),
                "cryptocurrencies": cryptocurrencies,
                "maxUses": max_uses,
                "expiresAt": expires_at,
                "expiresIn": expires_in,
                "redirectUrl": redirect_url,
                "note": note,
                "metadata": metadata,
            },
            options=options,
        )
        return await self._transport.send(call, json_reader(PaymentLink))

    def list(
        self,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
        created_gte: Moment | None = None,
        created_lte: Moment | None = None,
        **options: Unpack[RequestOptions],
    ) -> AsyncPager[PaymentLink]:
        """List payment links.

        Newest first.

        Scope: `payments:read`.

        - `limit`: How many records, 1 to 100.
        - `starting_after`: The `id` of the last record of the page before.
        - `ending_before`: The `id` of the first record of the page after: the page before it, newest first as well.
        - `created_gte`: Created at or after this ISO 8601 time, UTC; a date means its beginning.
        - `created_lte`: Created at or before this ISO 8601 time, UTC; a date means its end.
        """

        call = Call(
            "GET",
            "/payment-links",
            query={
                "limit": limit,
                "starting_after": starting_after,
                "ending_before": ending_before,
                "created_gte": created_gte,
                "created_lte": created_lte,
            },
            options=options,
        )
        return list_pages(self._transport, PaymentLink, call)

    async def get(self, link_id: str, **options: Unpack[RequestOptions]) -> PaymentLink:
        """Get a payment link.

        The link, with how many of its uses are taken.

        Scope: `payments:read`.
        """

        call = Call(
            "GET",
            f"/payment-links/{segment(link_id)}",
            options=options,
        )
        return await self._transport.send(call, json_reader(PaymentLink))

    async def update(
        self,
        link_id: str,
        *,
        enabled: bool | NotGiven | None = NOT_GIVEN,
        description: str | NotGiven | None = NOT_GIVEN,
        note: str | NotGiven | None = NOT_GIVEN,
        max_uses: int | NotGiven | None = NOT_GIVEN,
        expires_at: Moment | NotGiven | None = NOT_GIVEN,
        expires_in: int | NotGiven | None = NOT_GIVEN,
        redirect_url: str | NotGiven | None = NOT_GIVEN,
        metadata: Mapping[str, Any] | NotGiven | None = NOT_GIVEN,
        **options: Unpack[RequestOptions],
    ) -> PaymentLink:
        """Update a payment link.

        Changes what is given, and leaves the rest. Prices, coins and wallets stay: the link may be printed.

        Scope: `payments:write`.

        - `enabled`: Whether payments can be made of it.
        - `description`: What it is for. Payers see it.
        - `note`: For yourself; payers do not see it.
        - `max_uses`: Null: any number.
        - `expires_at`: Null: never.
        - `expires_in`: Seconds that the payer has.
        - `redirect_url`: Where the payer may go on after success.
        - `metadata`: Your own JSON object, as you sent it.
        """

        call = Call(
            "PATCH",
            f"/payment-links/{segment(link_id)}",
            body={
                "enabled": enabled,
                "description": description,
                "note": note,
                "maxUses": max_uses,
                "expiresAt": expires_at,
                "expiresIn": expires_in,
                "redirectUrl": redirect_url,
                "metadata": metadata,
            },
            options=options,
        )
        return await self._transport.send(call, json_reader(PaymentLink))


class AsyncPaymentLinksWithRawResponse:
    def __init__(self, transport: AsyncTransport) -> None:
        resource = AsyncPaymentLinksResource(AsyncRawTransport(transport.core, transport.client, transport.sleep))
        self.create = async_raw_response(resource.create)
        self.list = async_raw_response(resource.list)
        self.get = async_raw_response(resource.get)
        self.update = async_raw_response(resource.update)
