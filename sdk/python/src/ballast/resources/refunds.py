"""RefundsResource of the clients. Generated from docs/openapi.json by sdk/generator."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Unpack

from ballast._core import NOT_GIVEN, Call, NotGiven, RequestOptions, WriteOptions, segment
from ballast._json import number
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
from ballast.models import Amount, MemoType, Moment, Refund, RefundStatus


class RefundsResource:
    """Refund payments."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @cached_property
    def with_raw_response(self) -> RefundsWithRawResponse:
        """The same methods, which return the reply with its status and headers; `parse()` makes the record of it."""
        return RefundsWithRawResponse(self._transport)

    def create(
        self,
        *,
        payment_id: str,
        amount: Amount | NotGiven | None = NOT_GIVEN,
        reason: str | NotGiven | None = NOT_GIVEN,
        destination: str | NotGiven | None = NOT_GIVEN,
        memo: str | NotGiven | None = NOT_GIVEN,
        memo_type: MemoType | NotGiven | None = NOT_GIVEN,
        discrepancy_id: str | NotGiven | None = NOT_GIVEN,
        metadata: Mapping[str, Any] | NotGiven | None = NOT_GIVEN,
        **options: Unpack[WriteOptions],
    ) -> Refund:
        """Create a refund.

        Gives money of a payment back, in full or in part. The money is reserved at once and sent as soon as the
        refund has an address. Send an `Idempotency-Key`, so that a request sent twice refunds once.

        Scope: `refunds:write`.

        - `payment_id`: The payment to refund.
        - `amount`: In the payment's currency. Its original quote says how many coins that is, whatever they are
          worth by now. Left out: all that is left.
        - `reason`: A note of yours.
        - `destination`: Where the money goes. Left out: back to the sender, when that is an ordinary account.
        - `memo`: On stellar, where the destination asks for one.
        - `memo_type`: `text` where the recipient wants a memo of digits as text, as some exchanges do. Left out: a
          number is an id, anything else text.
        - `discrepancy_id`: The discrepancy to refund. It is refunded in full, so leave out the amount.
        - `metadata`: Any JSON object of yours, up to 16 KiB; given back as sent.
        """

        call = Call(
            "POST",
            "/refunds",
            body={
                "paymentId": payment_id,
                "amount": number(amount),
                "reason": reason,
                "destination": destination,
                "memo": memo,
                "memoType": memo_type,
                "discrepancyId": discrepancy_id,
                "metadata": metadata,
            },
            options=options,
        )
        return self._transport.send(call, json_reader(Refund))

    def list(
        self,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
        created_gte: Moment | None = None,
        created_lte: Moment | None = None,
        payment_id: str | None = None,
        status: RefundStatus | None = None,
        **options: Unpack[RequestOptions],
    ) -> Page[Refund]:
        """List refunds.

        Newest first.

        Scope: `refunds:read`.

        - `limit`: How many records, 1 to 100.
        - `starting_after`: The `id` of the last record of the page before.
        - `ending_before`: The `id` of the first record of the page after: the page before it, newest first as well.
        - `created_gte`: Created at or after this ISO 8601 time, UTC; a date means its beginning.
        - `created_lte`: Created at or before this ISO 8601 time, UTC; a date means its end.
        - `payment_id`: Only refunds of this payment.
        - `status`: Only refunds in this status.
        """

        call = Call(
            "GET",
            "/refunds",
            query={
                "limit": limit,
                "starting_after": starting_after,
                "ending_before": ending_before,
                "created_gte": created_gte,
                "created_lte": created_lte,
                "paymentId": payment_id,
                "status": status,
            },
            options=options,
        )
        return list_page(self._transport, Refund, call)

    def get(self, refund_id: str, **options: Unpack[RequestOptions]) -> Refund:
        """Get a refund.

        The refund as it is now.

        Scope: `refunds:read`.
        """

        call = Call(
            "GET",
            f"/refunds/{segment(refund_id)}",
            options=options,
        )
        return self._transport.send(call, json_reader(Refund))

    def cancel(self, refund_id: str, **options: Unpack[WriteOptions]) -> Refund:
        """Cancel a refund.

        Possible until the refund is signed. Its money goes back where it was.

        Scope: `refunds:write`.
        """

        call = Call(
            "POST",
            f"/refunds/{segment(refund_id)}/cancel",
            body={},
            options=options,
        )
        return self._transport.send(call, json_reader(Refund))

    def give_destination(
        self,
        refund_id: str,
        *,
        destination: str,
        memo: str | NotGiven | None = NOT_GIVEN,
        memo_type: MemoType | NotGiven | None = NOT_GIVEN,
        **options: Unpack[WriteOptions],
    ) -> Refund:
        """Give a refund its address.

        For a refund whose status is `requires_action`: nobody can tell from the incoming transfer where the money
        is to go.

        Scope: `refunds:write`.

        - `destination`: An address on the refund's network.
        - `memo`: On stellar, where the account asks for one, as those of exchanges do.
        - `memo_type`: `text` where the recipient wants a memo of digits as text, as some exchanges do. Left out: a
          number is an id, anything else text.
        """

        call = Call(
            "POST",
            f"/refunds/{segment(refund_id)}/destination",
            body={
                "destination": destination,
                "memo": memo,
                "memoType": memo_type,
            },
            options=options,
        )
        return self._transport.send(call, json_reader(Refund))


class RefundsWithRawResponse:
    def __init__(self, transport: Transport) -> None:
        resource = RefundsResource(RawTransport(transport.core, transport.client, transport.sleep))
        self.create = raw_response(resource.create)
        self.list = raw_response(resource.list)
        self.get = raw_response(resource.get)
        self.cancel = raw_response(resource.cancel)
        self.give_destination = raw_response(resource.give_destination)


class AsyncRefundsResource:
    """Refund payments."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @cached_property
    def with_raw_response(self) -> AsyncRefundsWithRawResponse:
        """The same methods, which return the reply with its status and headers; `parse()` makes the record of it."""
        return AsyncRefundsWithRawResponse(self._transport)

    async def create(
        self,
        *,
        payment_id: str,
        amount: Amount | NotGiven | None = NOT_GIVEN,
        reason: str | NotGiven | None = NOT_GIVEN,
        destination: str | NotGiven | None = NOT_GIVEN,
        memo: str | NotGiven | None = NOT_GIVEN,
        memo_type: MemoType | NotGiven | None = NOT_GIVEN,
        discrepancy_id: str | NotGiven | None = NOT_GIVEN,
        metadata: Mapping[str, Any] | NotGiven | None = NOT_GIVEN,
        **options: Unpack[WriteOptions],
    ) -> Refund:
        """Create a refund.

        Gives money of a payment back, in full or in part. The money is reserved at once and sent as soon as the
        refund has an address. Send an `Idempotency-Key`, so that a request sent twice refunds once.

        Scope: `refunds:write`.

        - `payment_id`: The payment to refund.
        - `amount`: In the payment's currency. Its original quote says how many coins that is, whatever they are
          worth by now. Left out: all that is left.
        - `reason`: A note of yours.
        - `destination`: Where the money goes. Left out: back to the sender, when that is an ordinary account.
        - `memo`: On stellar, where the destination asks for one.
        - `memo_type`: `text` where the recipient wants a memo of digits as text, as some exchanges do. Left out: a
          number is an id, anything else text.
        - `discrepancy_id`: The discrepancy to refund. It is refunded in full, so leave out the amount.
        - `metadata`: Any JSON object of yours, up to 16 KiB; given back as sent.
        """

        call = Call(
            "POST",
            "/refunds",
            body={
                "paymentId": payment_id,
                "amount": number(amount),
                "reason": reason,
                "destination": destination,
                "memo": memo,
                "memoType": memo_type,
                "discrepancyId": discrepancy_id,
                "metadata": metadata,
            },
            options=options,
        )
        return await self._transport.send(call, json_reader(Refund))

    def list(
        self,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
        created_gte: Moment | None = None,
        created_lte: Moment | None = None,
        payment_id: str | None = None,
        status: RefundStatus | None = None,
        **options: Unpack[RequestOptions],
    ) -> AsyncPager[Refund]:
        """List refunds.

        Newest first.

        Scope: `refunds:read`.

        - `limit`: How many records, 1 to 100.
        - `starting_after`: The `id` of the last record of the page before.
        - `ending_before`: The `id` of the first record of the page after: the page before it, newest first as well.
        - `created_gte`: Created at or after this ISO 8601 time, UTC; a date means its beginning.
        - `created_lte`: Created at or before this ISO 8601 time, UTC; a date means its end.
        - `payment_id`: Only refunds of this payment.
        - `status`: Only refunds in this status.
        """

        call = Call(
            "GET",
            "/refunds",
            query={
                "limit": limit,
                "starting_after": starting_after,
                "ending_before": ending_before,
                "created_gte": created_gte,
                "created_lte": created_lte,
                "paymentId": payment_id,
                "status": status,
            },
            options=options,
        )
        return list_pages(self._transport, Refund, call)

    async def get(self, refund_id: str, **options: Unpack[RequestOptions]) -> Refund:
        """Get a refund.

        The refund as it is now.

        Scope: `refunds:read`.
        """

        call = Call(
            "GET",
            f"/refunds/{segment(refund_id)}",
            options=options,
        )
        return await self._transport.send(call, json_reader(Refund))

    async def cancel(self, refund_id: str, **options: Unpack[WriteOptions]) -> Refund:
        """Cancel a refund.

        Possible until the refund is signed. Its money goes back where it was.

        Scope: `refunds:write`.
        """

        call = Call(
            "POST",
            f"/refunds/{segment(refund_id)}/cancel",
            body={},
            options=options,
        )
        return await self._transport.send(call, json_reader(Refund))

    async def give_destination(
        self,
        refund_id: str,
        *,
        destination: str,
        memo: str | NotGiven | None = NOT_GIVEN,
        memo_type: MemoType | NotGiven | None = NOT_GIVEN,
        **options: Unpack[WriteOptions],
    ) -> Refund:
        """Give a refund its address.

        For a refund whose status is `requires_action`: nobody can tell from the incoming transfer where the money
        is to go.

        Scope: `refunds:write`.

        - `destination`: An address on the refund's network.
        - `memo`: On stellar, where the account asks for one, as those of exchanges do.
        - `memo_type`: `text` where the recipient wants a memo of digits as text, as some exchanges do. Left out: a
          number is an id, anything else text.
        """

        call = Call(
            "POST",
            f"/refunds/{segment(refund_id)}/destination",
            body={
                "destination": destination,
                "memo": memo,
                "memoType": memo_type,
            },
            options=options,
        )
        return await self._transport.send(call, json_reader(Refund))


class AsyncRefundsWithRawResponse:
    def __init__(self, transport: AsyncTransport) -> None:
        resource = AsyncRefundsResource(AsyncRawTransport(transport.core, transport.client, transport.sleep))
        self.create = async_raw_response(resource.create)
        self.list = async_raw_response(resource.list)
        self.get = async_raw_response(resource.get)
        self.cancel = async_raw_response(resource.cancel)
        self.give_destination = async_raw_response(resource.give_destination)
