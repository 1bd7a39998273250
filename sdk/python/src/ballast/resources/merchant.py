"""MerchantResource of the clients. Generated from docs/openapi.json by sdk/generator."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Unpack

from ballast._core import NOT_GIVEN, Call, NotGiven, RequestOptions
from ballast._json import named
from ballast._transport import (
    AsyncRawTransport,
    AsyncTransport,
    RawTransport,
    Transport,
    async_raw_response,
    json_reader,
    raw_response,
)
from ballast.models import Amount, Cryptocurrency, LatePayments, Merchant, MerchantSurplus, ScheduleRequest


class MerchantResource:
    """The account and its settings."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @cached_property
    def with_raw_response(self) -> MerchantWithRawResponse:
        """The same methods, which return the reply with its status and headers; `parse()` makes the record of it."""
        return MerchantWithRawResponse(self._transport)

    def get(self, **options: Unpack[RequestOptions]) -> Merchant:
        """Get the merchant.

        The account that the keys belong to, and its settings.

        Scope: `merchant:read`.
        """

        call = Call(
            "GET",
            "/merchant",
            options=options,
        )
        return self._transport.send(call, json_reader(Merchant))

    def update_settings(
        self,
        *,
        settlement_currency: Cryptocurrency | NotGiven | None = NOT_GIVEN,
        settlement_schedule: ScheduleRequest | NotGiven | None = NOT_GIVEN,
        payment_tolerance: Amount | NotGiven | None = NOT_GIVEN,
        late_payments: LatePayments | NotGiven | None = NOT_GIVEN,
        surplus: MerchantSurplus | NotGiven | None = NOT_GIVEN,
        surplus_kept: Amount | NotGiven | None = NOT_GIVEN,
        wallet_allow_list: Sequence[str] | NotGiven | None = NOT_GIVEN,
        **options: Unpack[RequestOptions],
    ) -> Merchant:
        """Update settings.

        Changes what is given, and leaves the rest.

        Scope: `merchant:write`.

        - `settlement_currency`: The coin that settlements are paid in.
        - `settlement_schedule`: When settlements are made.
        - `payment_tolerance`: How far short a payment may fall and still complete, in percent: from 0 to 0.5.
        - `late_payments`: `hold` late money for a decision, or `accept` it within 24 hours when the amount is
          complete.
        - `surplus`: What happens to a surplus: `ask` holds it for a decision, `give_back` refunds it to its sender,
          `keep` credits it up to `surplusKept`.
        - `surplus_kept`: Up to how much of the price a surplus is kept, in percent: above 0 and at most 1 with
          `keep`, else 0.
        - `wallet_allow_list`: Wallets that payments may name as merchantWallet; an empty list allows any.
        """

        call = Call(
            "PATCH",
            "/merchant/settings",
            body={
                "settlementCurrency": settlement_currency,
                "settlementSchedule": named(settlement_schedule),
                "paymentTolerance": payment_tolerance,
                "latePayments": late_payments,
                "surplus": surplus,
                "surplusKept": surplus_kept,
                "walletAllowList": wallet_allow_list,
            },
            options=options,
        )
        return self._transport.send(call, json_reader(Merchant))


class MerchantWithRawResponse:
    def __init__(self, transport: Transport) -> None:
        resource = MerchantResource(RawTransport(transport.core, transport.client, transport.sleep))
        self.get = raw_response(resource.get)
        self.update_settings = raw_response(resource.update_settings)


class AsyncMerchantResource:
    """The account and its settings."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @cached_property
    def with_raw_response(self) -> AsyncMerchantWithRawResponse:
        """The same methods, which return the reply with its status and headers; `parse()` makes the record of it."""
        return AsyncMerchantWithRawResponse(self._transport)

    async def get(self, **options: Unpack[RequestOptions]) -> Merchant:
        """Get the merchant.

        The account that the keys belong to, and its settings.

        Scope: `merchant:read`.
        """

        call = Call(
            "GET",
            "/merchant",
            options=options,
        )
        return await self._transport.send(call, json_reader(Merchant))

    async def update_settings(
        self,
        *,
        settlement_currency: Cryptocurrency | NotGiven | None = NOT_GIVEN,
        settlement_schedule: ScheduleRequest | NotGiven | None = NOT_GIVEN,
        payment_tolerance: Amount | NotGiven | None = NOT_GIVEN,
        late_payments: LatePayments | NotGiven | None = NOT_GIVEN,
        surplus: MerchantSurplus | NotGiven | None = NOT_GIVEN,
        surplus_kept: Amount | NotGiven | None = NOT_GIVEN,
        wallet_allow_list: Sequence[str] | NotGiven | None = NOT_GIVEN,
        **options: Unpack[RequestOptions],
    ) -> Merchant:
        """Update settings.

        Changes what is given, and leaves the rest.

        Scope: `merchant:write`.

        - `settlement_currency`: The coin that settlements are paid in.
        - `settlement_schedule`: When settlements are made.
        - `payment_tolerance`: How far short a payment may fall and still complete, in percent: from 0 to 0.5.
        - `late_payments`: `hold` late money for a decision, or `accept` it within 24 hours when the amount is
          complete.
        - `surplus`: What happens to a surplus: `ask` holds it for a decision, `give_back` refunds it to its sender,
          `keep` credits it up to `surplusKept`.
        - `surplus_kept`: Up to how much of the price a surplus is kept, in percent: above 0 and at most 1 with
          `keep`, else 0.
        - `wallet_allow_list`: Wallets that payments may name as merchantWallet; an empty list allows any.
        """

        call = Call(
            "PATCH",
            "/merchant/settings",
            body={
                "settlementCurrency": settlement_currency,
                "settlementSchedule": named(settlement_schedule),
                "paymentTolerance": payment_tolerance,
                "latePayments": late_payments,
                "surplus": surplus,
                "surplusKept": surplus_kept,
                "walletAllowList": wallet_allow_list,
            },
            options=options,
        )
        return await self._transport.send(call, json_reader(Merchant))


class AsyncMerchantWithRawResponse:
    def __init__(self, transport: AsyncTransport) -> None:
        resource = AsyncMerchantResource(AsyncRawTransport(transport.core, transport.client, transport.sleep))
        self.get = async_raw_response(resource.get)
        self.update_settings = async_raw_response(resource.update_settings)
