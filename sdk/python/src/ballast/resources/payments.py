"""PaymentsResource of the clients. Generated from docs/openapi.json by sdk/generator."""

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
from ballast.models import (
    Amount,
    Claim,
    Cryptocurrency,
    Currency,
    Discrepancy,
    ItemRequest,
    Moment,
    Network,
    Payment,
    PaymentTransfer,
    Scenario,
    Simulation,
    TimelineEntry,
    WalletsRequest,
)


class PaymentsResource:
    """Request payments, and see what arrived."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @cached_property
    def with_raw_response(self) -> PaymentsWithRawResponse:
        """The same methods, which return the reply with its status and headers; `parse()` makes the record of it."""
        return PaymentsWithRawResponse(self._transport)

    def create(
        self,
        *,
        amount: Amount,
        currency: Currency,
        cryptocurrency: Cryptocurrency | NotGiven | None = NOT_GIVEN,
        network: Network | NotGiven | None = NOT_GIVEN,
        merchant_wallet: str | NotGiven | None = NOT_GIVEN,
        merchant_wallets: WalletsRequest | NotGiven | None = NOT_GIVEN,
        cryptocurrencies: Sequence[Cryptocurrency] | NotGiven | None = NOT_GIVEN,
        description: str | NotGiven | None = NOT_GIVEN,
        items: Sequence[ItemRequest] | NotGiven | None = NOT_GIVEN,
        note: str | NotGiven | None = NOT_GIVEN,
        redirect_url: str | NotGiven | None = NOT_GIVEN,
        cancel_url: str | NotGiven | None = NOT_GIVEN,
        webhook_url: str | NotGiven | None = NOT_GIVEN,
        expires_in: int | NotGiven | None = NOT_GIVEN,
        metadata: Mapping[str, Any] | NotGiven | None = NOT_GIVEN,
        **options: Unpack[WriteOptions],
    ) -> Payment:
        """Create a payment.

        Quotes the price in the coin, reserves an address that belongs to this payment alone, and replies with a
        page for the payer at `url`. Without `cryptocurrency`, `network` and `merchantWallet` the payer chooses coin
        and network there. Send an `Idempotency-Key`, so that a request sent twice makes one payment.

        Scope: `payments:write`.

        - `amount`: In the currency, with at most its minor digits; worth at most 1,000,000 USD at the current rate.
        - `currency`: ISO 4217 code of the price's currency.
        - `cryptocurrency`: The coin the payer sends. Left out with `network` and `merchantWallet`: the payer
          chooses.
        - `network`: The network it is sent on.
        - `merchant_wallet`: Where settlements of this payment go. On stellar an M address is taken as well; a G
          address whose account asks for memos, as those of exchanges do, is refused.
        - `merchant_wallets`: Instead of `network` and `merchantWallet`: where settlements go, by network. The payer
          chooses among these networks. Left out: those of your wallets in use.
        - `cryptocurrencies`: Instead of `cryptocurrency`: the coins that the payer chooses among. Left out: all of
          the networks.
        - `description`: What it is for. Payers see it, and receipts name it.
        - `items`: Lines of what is paid for. Payers see them.
        - `note`: For yourself; payers do not see it.
        - `redirect_url`: Where the payer may go on after success.
        - `cancel_url`: Where a payer who has not paid may go back to, once the payment expired or was cancelled.
          Left out: the first page of the site of `redirectUrl`.
        - `webhook_url`: Told of this payment's events as well.
        - `expires_in`: Seconds the payer has. 1800 when it is left out.
        - `metadata`: Any JSON object of yours, up to 16 KiB; given back as sent.
        """

        call = Call(
            "POST",
            "/payments",
            body={
                "amount": number(amount),
                "currency": currency,
                "cryptocurrency": cryptocurrency,
                "network": network,
                "merchantWallet": merchant_wallet,
                "merchantWallets": named(merchant_wallets),
                "cryptocurrencies": cryptocurrencies,
                "description": description,
                "items": named(items),
                "note": note,
                "redirectUrl": redirect_url,
                "cancelUrl": cancel_url,
                "webhookUrl": webhook_url,
                "expiresIn": expires_in,
                "metadata": metadata,
            },
            options=options,
        )
        return self._transport.send(call, json_reader(Payment))

    def list(
        self,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
        created_gte: Moment | None = None,
        created_lte: Moment | None = None,
        status: str | None = None,
        network: Network | None = None,
        cryptocurrency: Cryptocurrency | None = None,
        currency: Currency | None = None,
        amount_gte: str | None = None,
        amount_lte: str | None = None,
        metadata: Mapping[str, str] | None = None,
        payment_link: str | None = None,
        **options: Unpack[RequestOptions],
    ) -> Page[Payment]:
        """List payments.

        Newest first.

        Scope: `payments:read`.

        - `limit`: How many records, 1 to 100.
        - `starting_after`: The `id` of the last record of the page before.
        - `ending_before`: The `id` of the first record of the page after: the page before it, newest first as well.
        - `created_gte`: Created at or after this ISO 8601 time, UTC; a date means its beginning.
        - `created_lte`: Created at or before this ISO 8601 time, UTC; a date means its end.
        - `status`: Only payments in this status, or in one of several, separated by commas: `created`, `pending`,
          `underpaid`, `completed`, `partially_refunded`, `refunded`, `expired`, `cancelled`.
        - `network`: Only payments that are asked for on this network.
        - `cryptocurrency`: Only payments that are asked for in this coin.
        - `currency`: Only payments priced in this currency.
        - `amount_gte`: Priced at least so much of `currency`.
        - `amount_lte`: Priced at most so much of `currency`.
        - `metadata`: Only payments whose metadata has this value, as `metadata[order]=1007`: how to find a payment
          by your order's number. Several names must all fit.
        - `payment_link`: Only payments made by this payment link.
        """

        call = Call(
            "GET",
            "/payments",
            query={
                "limit": limit,
                "starting_after": starting_after,
                "ending_before": ending_before,
                "created_gte": created_gte,
                "created_lte": created_lte,
                "status": status,
                "network": network,
                "cryptocurrency": cryptocurrency,
                "currency": currency,
                "amount_gte": amount_gte,
                "amount_lte": amount_lte,
                "metadata": metadata,
                "paymentLink": payment_link,
            },
            options=options,
        )
        return list_page(self._transport, Payment, call)

    def get(self, payment_id: str, *, expand: str | None = None, **options: Unpack[RequestOptions]) -> Payment:
        """Get a payment.

        The payment as it is now. Deliver goods when `status` is `completed`.

        Scope: `payments:read`.

        - `expand`: What the record has then too, the newest 100 of each: `discrepancies`, `refunds`, or both
          separated by a comma.
        """

        call = Call(
            "GET",
            f"/payments/{segment(payment_id)}",
            query={
                "expand": expand,
            },
            options=options,
        )
        return self._transport.send(call, json_reader(Payment))

    def update(
        self,
        payment_id: str,
        *,
        description: str | NotGiven | None = NOT_GIVEN,
        note: str | NotGiven | None = NOT_GIVEN,
        metadata: Mapping[str, Any] | NotGiven | None = NOT_GIVEN,
        **options: Unpack[RequestOptions],
    ) -> Payment:
        """Update a payment.

        Changes the description, the note and single names of the metadata, at any time, also once the payment is
        over. A change is told by `payment.updated`. Price, coin and wallet stay.

        Scope: `payments:write`.

        - `description`: What it is for. Payers see it.
        - `note`: For yourself; payers do not see it.
        - `metadata`: Names that are set; a name with `null` is removed, and all others stay. At most 16 KiB in all.
        """

        call = Call(
            "PATCH",
            f"/payments/{segment(payment_id)}",
            body={
                "description": description,
                "note": note,
                "metadata": metadata,
            },
            options=options,
        )
        return self._transport.send(call, json_reader(Payment))

    def cancel(self, payment_id: str, **options: Unpack[WriteOptions]) -> Payment:
        """Cancel a payment.

        Ends a payment that nothing was sent for yet. Money that comes later waits for a decision.

        Scope: `payments:write`.
        """

        call = Call(
            "POST",
            f"/payments/{segment(payment_id)}/cancel",
            body={},
            options=options,
        )
        return self._transport.send(call, json_reader(Payment))

    def close(self, payment_id: str, **options: Unpack[WriteOptions]) -> Payment:
        """Close an underpaid payment early.

        Ends the time of a payment that has received too little. What came waits as a discrepancy, which you
        accept or refund; what is sent later is late. Refused while more has been seen and is not confirmed.

        Scope: `decisions:write`.
        """

        call = Call(
            "POST",
            f"/payments/{segment(payment_id)}/close",
            body={},
            options=options,
        )
        return self._transport.send(call, json_reader(Payment))

    def claim(self, payment_id: str, *, transaction_hash: str, **options: Unpack[WriteOptions]) -> Claim:
        """Explain an on-chain transaction.

        For a payer who says that they paid: looks the transaction up on the payment's network, and says of every
        transfer in it why it counts for the payment or does not. It credits nothing.

        Scope: `payments:read`.

        - `transaction_hash`: 0x and 64 hexadecimal digits on ethereum and polygon, 64 hexadecimal digits on stellar.
        """

        call = Call(
            "POST",
            f"/payments/{segment(payment_id)}/claim",
            body={
                "transactionHash": transaction_hash,
            },
            options=options,
        )
        return self._transport.send(call, json_reader(Claim))

    def simulate(self, payment_id: str, *, scenario: Scenario, **options: Unpack[WriteOptions]) -> Simulation:
        """Simulate a payment.

        Plays a payer on the simulated network of the sandbox: one who pays exactly, too little, late or
        otherwise. In production there is nothing to act out.

        Scope: `payments:write`.

        - `scenario`: What happens to the payment.
        """

        call = Call(
            "POST",
            f"/payments/{segment(payment_id)}/simulate",
            body={
                "scenario": scenario,
            },
            options=options,
        )
        return self._transport.send(call, json_reader(Simulation))

    def timeline(
        self,
        payment_id: str,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
        **options: Unpack[RequestOptions],
    ) -> Page[TimelineEntry]:
        """Get the timeline of a payment.

        Its events, each with the status and the amount received as they were then.

        Scope: `payments:read`.

        - `limit`: How many records, 1 to 100.
        - `starting_after`: The `id` of the last record of the page before.
        - `ending_before`: The `id` of the first record of the page after: the page before it, newest first as well.
        """

        call = Call(
            "GET",
            f"/payments/{segment(payment_id)}/timeline",
            query={
                "limit": limit,
                "starting_after": starting_after,
                "ending_before": ending_before,
            },
            options=options,
        )
        return list_page(self._transport, TimelineEntry, call)

    def transfers(
        self,
        payment_id: str,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
        **options: Unpack[RequestOptions],
    ) -> Page[PaymentTransfer]:
        """List a payment's transfers.

        Whether they count or not, newest first. The payment's own record has the first hundred.

        Scope: `payments:read`.

        - `limit`: How many records, 1 to 100.
        - `starting_after`: The `id` of the last record of the page before.
        - `ending_before`: The `id` of the first record of the page after: the page before it, newest first as well.
        """

        call = Call(
            "GET",
            f"/payments/{segment(payment_id)}/transfers",
            query={
                "limit": limit,
                "starting_after": starting_after,
                "ending_before": ending_before,
            },
            options=options,
        )
        return list_page(self._transport, PaymentTransfer, call)

    def discrepancies(
        self,
        payment_id: str,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
        **options: Unpack[RequestOptions],
    ) -> Page[Discrepancy]:
        """List a payment's discrepancies.

        Money that came late, short, in surplus or on the wrong network.

        Scope: `payments:read`.

        - `limit`: How many records, 1 to 100.
        - `starting_after`: The `id` of the last record of the page before.
        - `ending_before`: The `id` of the first record of the page after: the page before it, newest first as well.
        """

        call = Call(
            "GET",
            f"/payments/{segment(payment_id)}/discrepancies",
            query={
                "limit": limit,
                "starting_after": starting_after,
                "ending_before": ending_before,
            },
            options=options,
        )
        return list_page(self._transport, Discrepancy, call)

    def accept_discrepancy(
        self,
        payment_id: str,
        discrepancy_id: str,
        *,
        note: str | NotGiven | None = NOT_GIVEN,
        **options: Unpack[WriteOptions],
    ) -> Discrepancy:
        """Accept a discrepancy.

        Accepts the money of one discrepancy. Short and late money then counts for its payment, which it may
        complete; the rest is extra. To give it back instead, create a refund.

        Scope: `decisions:write`.

        - `note`: Why, for your own records.
        """

        call = Call(
            "POST",
            f"/payments/{segment(payment_id)}/discrepancies/{segment(discrepancy_id)}/accept",
            body={
                "note": note,
            },
            options=options,
        )
        return self._transport.send(call, json_reader(Discrepancy))


class PaymentsWithRawResponse:
    def __init__(self, transport: Transport) -> None:
        resource = PaymentsResource(RawTransport(transport.core, transport.client, transport.sleep))
        self.create = raw_response(resource.create)
        self.list = raw_response(resource.list)
        self.get = raw_response(resource.get)
        self.update = raw_response(resource.update)
        self.cancel = raw_response(resource.cancel)
        self.close = raw_response(resource.close)
        self.claim = raw_response(resource.claim)
        self.simulate = raw_response(resource.simulate)
        self.timeline = raw_response(resource.timeline)
        self.transfers = raw_response(resource.transfers)
        self.discrepancies = raw_response(resource.discrepancies)
        self.accept_discrepancy = raw_response(resource.accept_discrepancy)


class AsyncPaymentsResource:
    """Request payments, and see what arrived."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @cached_property
    def with_raw_response(self) -> AsyncPaymentsWithRawResponse:
        """The same methods, which return the reply with its status and headers; `parse()` makes the record of it."""
        return AsyncPaymentsWithRawResponse(self._transport)

    async def create(
        self,
        *,
        amount: Amount,
        currency: Currency,
        cryptocurrency: Cryptocurrency | NotGiven | None = NOT_GIVEN,
        network: Network | NotGiven | None = NOT_GIVEN,
        merchant_wallet: str | NotGiven | None = NOT_GIVEN,
        merchant_wallets: WalletsRequest | NotGiven | None = NOT_GIVEN,
        cryptocurrencies: Sequence[Cryptocurrency] | NotGiven | None = NOT_GIVEN,
        description: str | NotGiven | None = NOT_GIVEN,
        items: Sequence[ItemRequest] | NotGiven | None = NOT_GIVEN,
        note: str | NotGiven | None = NOT_GIVEN,
        redirect_url: str | NotGiven | None = NOT_GIVEN,
        cancel_url: str | NotGiven | None = NOT_GIVEN,
        webhook_url: str | NotGiven | None = NOT_GIVEN,
        expires_in: int | NotGiven | None = NOT_GIVEN,
        metadata: Mapping[str, Any] | NotGiven | None = NOT_GIVEN,
        **options: Unpack[WriteOptions],
    ) -> Payment:
        """Create a payment.

        Quotes the price in the coin, reserves an address that belongs to this payment alone, and replies with a
        page for the payer at `url`. Without `cryptocurrency`, `network` and `merchantWallet` the payer chooses coin
        and network there. Send an `Idempotency-Key`, so that a request sent twice makes one payment.

        Scope: `payments:write`.

        - `amount`: In the currency, with at most its minor digits; worth at most 1,000,000 USD at the current rate.
        - `currency`: ISO 4217 code of the price's currency.
        - `cryptocurrency`: The coin the payer sends. Left out with `network` and `merchantWallet`: the payer
          chooses.
        - `network`: The network it is sent on.
        - `merchant_wallet`: Where settlements of this payment go. On stellar an M address is taken as well; a G
          address whose account asks for memos, as those of exchanges do, is refused.
        - `merchant_wallets`: Instead of `network` and `merchantWallet`: where settlements go, by network. The payer
          chooses among these networks. Left out: those of your wallets in use.
        - `cryptocurrencies`: Instead of `cryptocurrency`: the coins that the payer chooses among. Left out: all of
          the networks.
        - `description`: What it is for. Payers see it, and receipts name it.
        - `items`: Lines of what is paid for. Payers see them.
        - `note`: For yourself; payers do not see it.
        - `redirect_url`: Where the payer may go on after success.
        - `cancel_url`: Where a payer who has not paid may go back to, once the payment expired or was cancelled.
          Left out: the first page of the site of `redirectUrl`.
        - `webhook_url`: Told of this payment's events as well.
        - `expires_in`: Seconds the payer has. 1800 when it is left out.
        - `metadata`: Any JSON object of yours, up to 16 KiB; given back as sent.
        """

        call = Call(
            "POST",
            "/payments",
            body={
                "amount": number(amount),
                "currency": currency,
                "cryptocurrency": cryptocurrency,
                "network": network,
                "merchantWallet": merchant_wallet,
                "merchantWallets": named(merchant_wallets),
                "cryptocurrencies": cryptocurrencies,
                "description": description,
                "items": named(items),
                "note": note,
                "redirectUrl": redirect_url,
                "cancelUrl": cancel_url,
                "webhookUrl": webhook_url,
                "expiresIn": expires_in,
                "metadata": metadata,
            },
            options=options,
        )
        return await self._transport.send(call, json_reader(Payment))

    def list(
        self,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
        created_gte: Moment | None = None,
        created_lte: Moment | None = None,
        status: str | None = None,
        network: Network | None = None,
        cryptocurrency: Cryptocurrency | None = None,
        currency: Currency | None = None,
        amount_gte: str | None = None,
        amount_lte: str | None = None,
        metadata: Mapping[str, str] | None = None,
        payment_link: str | None = None,
        **options: Unpack[RequestOptions],
    ) -> AsyncPager[Payment]:
        """List payments.

        Newest first.

        Scope: `payments:read`.

        - `limit`: How many records, 1 to 100.
        - `starting_after`: The `id` of the last record of the page before.
        - `ending_before`: The `id` of the first record of the page after: the page before it, newest first as well.
        - `created_gte`: Created at or after this ISO 8601 time, UTC; a date means its beginning.
        - `created_lte`: Created at or before this ISO 8601 time, UTC; a date means its end.
        - `status`: Only payments in this status, or in one of several, separated by commas: `created`, `pending`,
          `underpaid`, `completed`, `partially_refunded`, `refunded`, `expired`, `cancelled`.
        - `network`: Only payments that are asked for on this network.
        - `cryptocurrency`: Only payments that are asked for in this coin.
        - `currency`: Only payments priced in this currency.
        - `amount_gte`: Priced at least so much of `currency`.
        - `amount_lte`: Priced at most so much of `currency`.
        - `metadata`: Only payments whose metadata has this value, as `metadata[order]=1007`: how to find a payment
          by your order's number. Several names must all fit.
        - `payment_link`: Only payments made by this payment link.
        """

        call = Call(
            "GET",
            "/payments",
            query={
                "limit": limit,
                "starting_after": starting_after,
                "ending_before": ending_before,
                "created_gte": created_gte,
                "created_lte": created_lte,
                "status": status,
                "network": network,
                "cryptocurrency": cryptocurrency,
                "currency": currency,
                "amount_gte": amount_gte,
                "amount_lte": amount_lte,
                "metadata": metadata,
                "paymentLink": payment_link,
            },
            options=options,
        )
        return list_pages(self._transport, Payment, call)

    async def get(self, payment_id: str, *, expand: str | None = None, **options: Unpack[RequestOptions]) -> Payment:
        """Get a payment.

        The payment as it is now. Deliver goods when `status` is `completed`.

        Scope: `payments:read`.

        - `expand`: What the record has then too, the newest 100 of each: `discrepancies`, `refunds`, or both
          separated by a comma.
        """

        call = Call(
            "GET",
            f"/payments/{segment(payment_id)}",
            query={
                "expand": expand,
            },
            options=options,
        )
        return await self._transport.send(call, json_reader(Payment))

    async def update(
        self,
        payment_id: str,
        *,
        description: str | NotGiven | None = NOT_GIVEN,
        note: str | NotGiven | None = NOT_GIVEN,
        metadata: Mapping[str, Any] | NotGiven | None = NOT_GIVEN,
        **options: Unpack[RequestOptions],
    ) -> Payment:
        """Update a payment.

        Changes the description, the note and single names of the metadata, at any time, also once the payment is
        over. A change is told by `payment.updated`. Price, coin and wallet stay.

        Scope: `payments:write`.

        - `description`: What it is for. Payers see it.
        - `note`: For yourself; payers do not see it.
        - `metadata`: Names that are set; a name with `null` is removed, and all others stay. At most 16 KiB in all.
        """

        call = Call(
            "PATCH",
            f"/payments/{segment(payment_id)}",
            body={
                "description": description,
                "note": note,
                "metadata": metadata,
            },
            options=options,
        )
        return await self._transport.send(call, json_reader(Payment))

    async def cancel(self, payment_id: str, **options: Unpack[WriteOptions]) -> Payment:
        """Cancel a payment.

        Ends a payment that nothing was sent for yet. Money that comes later waits for a decision.

        Scope: `payments:write`.
        """

        call = Call(
            "POST",
            f"/payments/{segment(payment_id)}/cancel",
            body={},
            options=options,
        )
        return await self._transport.send(call, json_reader(Payment))

    async def close(self, payment_id: str, **options: Unpack[WriteOptions]) -> Payment:
        """Close an underpaid payment early.

        Ends the time of a payment that has received too little. What came waits as a discrepancy, which you
        accept or refund; what is sent later is late. Refused while more has been seen and is not confirmed.

        Scope: `decisions:write`.
        """

        call = Call(
            "POST",
            f"/payments/{segment(payment_id)}/close",
            body={},
            options=options,
        )
        return await self._transport.send(call, json_reader(Payment))

    async def claim(self, payment_id: str, *, transaction_hash: str, **options: Unpack[WriteOptions]) -> Claim:
        """Explain an on-chain transaction.

        For a payer who says that they paid: looks the transaction up on the payment's network, and says of every
        transfer in it why it counts for the payment or does not. It credits nothing.

        Scope: `payments:read`.

        - `transaction_hash`: 0x and 64 hexadecimal digits on ethereum and polygon, 64 hexadecimal digits on stellar.
        """

        call = Call(
            "POST",
            f"/payments/{segment(payment_id)}/claim",
            body={
                "transactionHash": transaction_hash,
            },
            options=options,
        )
        return await self._transport.send(call, json_reader(Claim))

    async def simulate(self, payment_id: str, *, scenario: Scenario, **options: Unpack[WriteOptions]) -> Simulation:
        """Simulate a payment.

        Plays a payer on the simulated network of the sandbox: one who pays exactly, too little, late or
        otherwise. In production there is nothing to act out.

        Scope: `payments:write`.

        - `scenario`: What happens to the payment.
        """

        call = Call(
            "POST",
            f"/payments/{segment(payment_id)}/simulate",
            body={
                "scenario": scenario,
            },
            options=options,
        )
        return await self._transport.send(call, json_reader(Simulation))

    def timeline(
        self,
        payment_id: str,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
        **options: Unpack[RequestOptions],
    ) -> AsyncPager[TimelineEntry]:
        """Get the timeline of a payment.

        Its events, each with the status and the amount received as they were then.

        Scope: `payments:read`.

        - `limit`: How many records, 1 to 100.
        - `starting_after`: The `id` of the last record of the page before.
        - `ending_before`: The `id` of the first record of the page after: the page before it, newest first as well.
        """

        call = Call(
            "GET",
            f"/payments/{segment(payment_id)}/timeline",
            query={
                "limit": limit,
                "starting_after": starting_after,
                "ending_before": ending_before,
            },
            options=options,
        )
        return list_pages(self._transport, TimelineEntry, call)

    def transfers(
        self,
        payment_id: str,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
        **options: Unpack[RequestOptions],
    ) -> AsyncPager[PaymentTransfer]:
        """List a payment's transfers.

        Whether they count or not, newest first. The payment's own record has the first hundred.

        Scope: `payments:read`.

        - `limit`: How many records, 1 to 100.
        - `starting_after`: The `id` of the last record of the page before.
        - `ending_before`: The `id` of the first record of the page after: the page before it, newest first as well.
        """

        call = Call(
            "GET",
            f"/payments/{segment(payment_id)}/transfers",
            query={
                "limit": limit,
                "starting_after": starting_after,
                "ending_before": ending_before,
            },
            options=options,
        )
        return list_pages(self._transport, PaymentTransfer, call)

    def discrepancies(
        self,
        payment_id: str,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
        **options: Unpack[RequestOptions],
    ) -> AsyncPager[Discrepancy]:
        """List a payment's discrepancies.

        Money that came late, short, in surplus or on the wrong network.

        Scope: `payments:read`.

        - `limit`: How many records, 1 to 100.
        - `starting_after`: The `id` of the last record of the page before.
        - `ending_before`: The `id` of the first record of the page after: the page before it, newest first as well.
        """

        call = Call(
            "GET",
            f"/payments/{segment(payment_id)}/discrepancies",
            query={
                "limit": limit,
                "starting_after": starting_after,
                "ending_before": ending_before,
            },
            options=options,
        )
        return list_pages(self._transport, Discrepancy, call)

    async def accept_discrepancy(
        self,
        payment_id: str,
        discrepancy_id: str,
        *,
        note: str | NotGiven | None = NOT_GIVEN,
        **options: Unpack[WriteOptions],
    ) -> Discrepancy:
        """Accept a discrepancy.

        Accepts the money of one discrepancy. Short and late money then counts for its payment, which it may
        complete; the rest is extra. To give it back instead, create a refund.

        Scope: `decisions:write`.

        - `note`: Why, for your own records.
        """

        call = Call(
            "POST",
            f"/payments/{segment(payment_id)}/discrepancies/{segment(discrepancy_id)}/accept",
            body={
                "note": note,
            },
            options=options,
        )
        return await self._transport.send(call, json_reader(Discrepancy))


class AsyncPaymentsWithRawResponse:
    def __init__(self, transport: AsyncTransport) -> None:
        resource = AsyncPaymentsResource(AsyncRawTransport(transport.core, transport.client, transport.sleep))
        self.create = async_raw_response(resource.create)
        self.list = async_raw_response(resource.list)
        self.get = async_raw_response(resource.get)
        self.update = async_raw_response(resource.update)
        self.cancel = async_raw_response(resource.cancel)
        self.close = async_raw_response(resource.close)
        self.claim = async_raw_response(resource.claim)
        self.simulate = async_raw_response(resource.simulate)
        self.timeline = async_raw_response(resource.timeline)
        self.transfers = async_raw_response(resource.transfers)
        self.discrepancies = async_raw_response(resource.discrepancies)
        self.accept_discrepancy = async_raw_response(resource.accept_discrepancy)
