"""`webhooks/events/samples.json` is written by the code: real events, with what differs from run to run replaced.

WRITE_SAMPLES=1 make test PYTEST_ARGS=tests/webhooks/test_samples.py
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from config.api.renderers import render_json
from config.pages.samples import cut_addresses
from payments.chains.simulated import control
from payments.chains.stellar import addresses
from payments.models import Payment
from payments.services import cancel_payment
from payments.transfers.execution import executor
from payments.treasury.losses.models import Bearer
from refunds.models import Refund
from refunds.services import cancel_refund, follow_payout, give_destination
from refunds.states import NamedBy
from settlements.models import Settlement
from tests.factories import make_merchant
from tests.losses.scenes import destroy, look, lose
from tests.payments.scenes import (
    ETHEREUM,
    STELLAR,
    confirm,
    end_window,
    make_payment,
    mine_and_watch,
    pay,
    pay_and_confirm,
    reorganise,
)
from tests.refunds.scenes import ask, send, wallet
from tests.settlements.page_scenes import earn_and_settle, fail, pay_out
from tests.webhooks.scenes import make_endpoint
from webhooks.events import catalogue
from webhooks.events.catalogue import CATALOGUE
from webhooks.events.samples import SAMPLES
from webhooks.models import Event
from webhooks.records import event_record
from webhooks.services import send_test

pytestmark = pytest.mark.django_db

SAMPLE_INSTANTS = {
    "periodStart": "2027-01-30T00:00:00.000Z",
    "periodEnd": "2027-01-31T00:00:00.000Z",
    "scheduledFor": "2027-01-31T00:00:00.000Z",
    "createdAt": "2027-01-31T09:30:00.000Z",
    "quotedAt": "2027-01-31T09:29:41.000Z",
    "expiresAt": "2027-01-31T10:00:00.000Z",
    "seenAt": "2027-01-31T09:34:12.000Z",
    "completedAt": "2027-01-31T09:34:40.000Z",
    "cancelledAt": "2027-01-31T09:32:05.000Z",
    "closedAt": "2027-01-31T10:00:12.000Z",
}
TOLD_AT = "2027-01-31T09:34:40.123Z"


def seen(payment: Payment) -> None:
    pay(payment)
    mine_and_watch(payment.network)


def undone(payment: Payment) -> None:
    pay(payment)
    mine_and_watch(payment.network)
    reorganise(payment, 1, "dropped")


def late(payment: Payment) -> None:
    end_window(payment)
    pay_and_confirm(payment)


def coins_missing(payment: Payment) -> None:
    pay_and_confirm(payment)
    destroy(payment, "30")
    look()


def decided(payment: Payment, bearer: Bearer) -> None:
    coins_missing(payment)
    lose(payment, bearer)


def paid_back(payment: Payment) -> Refund:
    pay_and_confirm(payment)
    refund = ask(payment, "40", destination=wallet(), reason="Out of stock", metadata={"return": "81"})
    send()
    return refund


def asked_back(payment: Payment) -> Refund:
    pay_and_confirm(payment)
    return ask(payment, "40", reason="Out of stock", metadata={"return": "81"})


def waiting_for_an_address(payment: Payment) -> Refund:
    for amount in ("60", "40"):
        pay(payment, amount)
    confirm(payment)
    return ask(payment)


def address_found(payment: Payment) -> Refund:
    return give_destination(waiting_for_an_address(payment), address=wallet(), named_by=NamedBy.PAYER)


def on_its_way(payment: Payment) -> Refund:
    pay_and_confirm(payment)
    refund = ask(payment, "40", destination=wallet())
    executor.run_round(payment.environment, payment.network)
    return follow_payout(refund)


def refused(payment: Payment) -> Refund:
    pay_and_confirm(payment)
    refund = ask(payment, "40", destination=wallet(name="a closed account"))
    control.describe_account(payment.network, refund.destination, refuses="destination_refused")
    send()
    return refund


def settled(payment: Payment) -> Settlement:
    return earn_and_settle(payment.merchant, network=payment.network)


SCENES: dict[str, tuple[str, Callable[[Payment], object]]] = {
    catalogue.PAYMENT_CREATED: (ETHEREUM, lambda payment: None),
    catalogue.PAYMENT_PENDING: (ETHEREUM, seen),
    catalogue.PAYMENT_UNDERPAID: (STELLAR, lambda payment: pay_and_confirm(payment, "60")),
    catalogue.PAYMENT_COMPLETED: (STELLAR, pay_and_confirm),
    catalogue.PAYMENT_OVERPAID: (STELLAR, lambda payment: pay_and_confirm(payment, "125")),
    catalogue.PAYMENT_EXPIRED: (STELLAR, end_window),
    catalogue.PAYMENT_LATE: (STELLAR, late),
    catalogue.PAYMENT_CANCELLED: (STELLAR, cancel_payment),
    catalogue.PAYMENT_REVERSED: (ETHEREUM, undone),
    catalogue.PAYMENT_REFUNDED: (STELLAR, lambda payment: (paid_back(payment), payment)[1]),
    catalogue.PAYMENT_UPDATED: (STELLAR, lambda payment: (asked_back(payment), payment)[1]),
    catalogue.PAYMENT_COINS_MISSING: (ETHEREUM, coins_missing),
    catalogue.PAYMENT_COINS_RESTORED: (ETHEREUM, lambda payment: decided(payment, Bearer.HOUSE)),
    catalogue.PAYMENT_COINS_LOST: (ETHEREUM, lambda payment: decided(payment, Bearer.MERCHANT)),
    catalogue.REFUND_CREATED: (STELLAR, asked_back),
    catalogue.REFUND_REQUIRES_ACTION: (STELLAR, waiting_for_an_address),
    catalogue.REFUND_PENDING: (STELLAR, address_found),
    catalogue.REFUND_PROCESSING: (STELLAR, on_its_way),
    catalogue.REFUND_COMPLETED: (STELLAR, paid_back),
    catalogue.REFUND_FAILED: (STELLAR, refused),
    catalogue.REFUND_CANCELLED: (STELLAR, lambda payment: cancel_refund(asked_back(payment))),
    catalogue.SETTLEMENT_CREATED: (STELLAR, settled),
    catalogue.SETTLEMENT_COMPLETED: (STELLAR, lambda payment: pay_out(settled(payment))),
    catalogue.SETTLEMENT_FAILED: (STELLAR, lambda payment: fail(settled(payment), "destination_refused")),
}
"""By event: the network of a payment, and what happens to it; that answers what the event is about, or nothing."""


def body_of(type: str) -> str:
    """The JSON of a new event of this type, as it is sent."""
    if type == catalogue.WEBHOOK_TEST:
        event = send_test(endpoint=make_endpoint(make_merchant(), description="Warehouse")).event
    else:
        network, scene = SCENES[type]
        payment = make_payment(
            network,
            "USDC",
            "100",
            redirect_url="https://shop.example.com/thank-you",
            webhook_url="https://shop.example.com/webhooks/orders",
            metadata={"order": "6735"},
        )
        about = scene(payment)
        key = about.pk if isinstance(about, Refund | Settlement) else payment.pk
        event = Event.objects.get(object_id=key, type=type)
    return render_json(event_record(event)).decode()


def standing_still(body: str, type: str) -> str:
    """The body with everything in it that differs from run to run replaced by an example."""
    record: Any = json.loads(body)
    shown = record["data"]["object"]
    texts = {
        shown.get("depositAddress"): "0x8Ba1f109551bD432803012645Ac136ddd64DBA72",
        shown.get("memo"): "7341000000000000019",
        shown.get("transactionHash"): "c0ffee01" * 8,
    }
    if (memo := shown.get("memo")) is not None:
        # The address is the same for all, and the muxed one is made of both.
        muxed = addresses.mux(shown["depositAddress"], int(texts[memo]))
        texts = {memo: texts[memo], shown.get("muxedAddress"): muxed}
    for number, transfer in enumerate(shown.get("transfers", [])):
        texts[transfer["hash"]] = f"{'0x' if transfer['hash'].startswith('0x') else ''}{f'c0ffee{number:02}' * 8}"
    for old, new in texts.items():
        if old:
            body = body.replace(json.dumps(old)[1:-1], new)
    body = re.sub(
        r"\b(evt|pay|ref|set|trf|whk)_[0-9a-z]{26}\b", lambda found: f"{found[1]}_01kfjhr3c8e4bs0dz6wd5n5yry", body
    )
    body = re.sub(r'"(data:image/png;base64,.{12})[^"]*"', r'"\1…"', body)
    body = re.sub(r'"block":\d+', '"block":7341', body)
    for name, instant in SAMPLE_INSTANTS.items():
        body = re.sub(rf'"{name}":"[^"]*"', f'"{name}":"{instant}"', body)
    return body.replace(SAMPLE_INSTANTS["createdAt"], TOLD_AT, 1) if type != catalogue.PAYMENT_CREATED else body


def indented(body: str) -> str:
    """Numbers as they are sent: `100.00`, every digit of it."""
    value = json.loads(body, parse_float=lambda digits: f"\0{digits}\0", parse_int=lambda digits: f"\0{digits}\0")
    return re.sub(r'"\\u0000([^"]*)\\u0000"', r"\1", json.dumps(value, indent=2).replace("\\u2026", "…"))


def samples() -> dict[str, str]:
    """The body of every event, as it is shown."""
    return {type: cut_addresses(indented(standing_still(body_of(type), type))) for type in CATALOGUE}


def test_the_samples_show_what_is_sent(settings: Settings) -> None:
    settings.PUBLIC_URL = "https://pay.example.com"
    settings.SIMULATED_BLOCK_SECONDS = 0
    bodies = samples()
    kept = "{\n" + ",\n".join(f'"{type}": {body}' for type, body in bodies.items()) + "\n}\n"
    if os.environ.get("WRITE_SAMPLES"):
        SAMPLES.write_text(kept, encoding="utf-8")
    assert SAMPLES.read_text(encoding="utf-8") == kept


def test_every_event_has_a_sample() -> None:
    assert {*SCENES, catalogue.WEBHOOK_TEST} == set(CATALOGUE)
