"""A program as somebody would write it: mypy --strict takes it, with the types of the installed package."""

from decimal import Decimal
from typing import assert_type

from ballast import AsyncBallast, Ballast, NotFoundError, RawResponse, Webhook
from ballast.events import PaymentCompletedEvent, RefundCompletedEvent
from ballast.models import Payment


def take(client: Ballast) -> str:
    payment = client.payments.create(amount=Decimal("25.50"), currency="EUR", merchant_wallets={"polygon": "0x5a5A"})
    assert_type(payment, Payment)
    assert_type(payment.amount, Decimal)
    raw = client.payments.with_raw_response.get(payment.id, timeout=5)
    assert_type(raw, RawResponse[Payment])
    client.payments.create(amount=1, currency="EURO")  # type: ignore[arg-type]
    client.payments.get(payment.id, idempotency_key="x")  # type: ignore[call-arg]
    client.quote.get()  # type: ignore[call-arg]
    try:
        return ", ".join(one.id for one in client.payments.list(status="completed", limit=100))
    except NotFoundError as error:
        return error.code


async def look(client: AsyncBallast) -> Payment:
    async for payment in client.payments.list():
        return payment
    page = await client.payments.list()
    raw = await client.payments.with_raw_response.list()
    assert_type(raw.parse().data, list[Payment])
    return page.data[0]


def receive(body: bytes, headers: dict[str, str]) -> Decimal | str | None:
    match Webhook("whsec_c2VjcmV0").verify(body, headers):
        case PaymentCompletedEvent(data=data):
            return data.object.amount
        case RefundCompletedEvent() as event:
            return event.data.object.id
    return None
