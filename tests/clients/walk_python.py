"""The README's walk-through with the client of openapi-python-client: strict, and with nothing asserted by hand."""

import json
import os
import sys
import time

from ballast_client import AuthenticatedClient
from ballast_client.api.balance import balance_retrieve
from ballast_client.api.events import events_list
from ballast_client.api.payments import payments_create, payments_retrieve, payments_simulate
from ballast_client.api.refunds import refunds_create
from ballast_client.api.settlements import settlements_list, settlements_statement
from ballast_client.models import (
    Balance,
    EventList,
    NewPaymentRequest,
    NewRefundRequest,
    Payment,
    PaymentCompletedEvent,
    PaymentStatus,
    Refund,
    RefundCreatedEvent,
    SettlementList,
    SimulationRequest,
    Statement,
)

client = AuthenticatedClient(
    base_url=os.environ["BALLAST_SANDBOX_BASE_URL"],
    token=os.environ["BALLAST_PUBLIC_KEY"],
    headers={"X-Api-Secret": os.environ["BALLAST_SECRET_KEY"]},
)
asked = NewPaymentRequest.from_dict(
    {
        "amount": 19.99,
        "currency": "EUR",
        "cryptocurrency": "USDC",
        "network": "polygon",
        "merchantWallet": os.environ["BALLAST_WALLET"],
        "redirectUrl": None,
        "metadata": {"order": 1001},
    }
)
payment = payments_create.sync(client=client, body=asked, idempotency_key="order-1001")
assert isinstance(payment, Payment), payment
payments_simulate.sync(payment.id, client=client, body=SimulationRequest.from_dict({"scenario": "exact"}))
while payment.status != PaymentStatus.COMPLETED:
    time.sleep(0.1)
    payment = payments_retrieve.sync(payment.id, client=client)
    assert isinstance(payment, Payment), payment
refund = refunds_create.sync(
    client=client, body=NewRefundRequest(payment_id=payment.id, amount=5, reason="One mug arrived broken")
)
assert isinstance(refund, Refund), refund
balance = balance_retrieve.sync(client=client)
assert isinstance(balance, Balance), balance
settlements = settlements_list.sync(client=client)
while isinstance(settlements, SettlementList) and not settlements.data:
    time.sleep(0.1)
    settlements = settlements_list.sync(client=client)
assert isinstance(settlements, SettlementList), settlements
statement = settlements_statement.sync(settlements.data[0].id, client=client)
assert isinstance(statement, Statement), statement
events = events_list.sync(client=client, limit=100)
assert isinstance(events, EventList), events
told = []
for event in events.data:
    match event:
        case PaymentCompletedEvent():
            told.append(f"{event.type_.value} {event.data.object_.crypto_amount}")
        case RefundCreatedEvent():
            told.append(f"{event.type_.value} {event.data.object_.payment_id}")
        case _:
            told.append(event.type_.value)
sys.stdout.write(
    json.dumps({"payment": payment.id, "refund": refund.id, "settled": statement.settlement, "told": told})
)
