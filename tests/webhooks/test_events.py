"""GET /events, and recording: every change of a payment is told, in the database transaction of the change."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.db import transaction
from django.db.models import Model

from config import ids
from config.api.renderers import format_instant, render_json
from payments.models import Payment
from payments.services import cancel_payment
from tests.factories import make_merchant
from tests.payments.scenes import STELLAR, make_payment, pay_and_confirm
from tests.webhooks.scenes import PRODUCTION, answer, client_of, keys_of, make_event, refusal, unknown
from webhooks import viewsets
from webhooks.events import catalogue as catalogue
from webhooks.events import recording
from webhooks.events.recording import build_event, record_events
from webhooks.models import Event
from webhooks.records import event_record

pytestmark = pytest.mark.django_db

DIRECT = "https://shop.example.com/this-payment"


# --- the API -----------------------------------------------------------------------------------------


def test_an_event_is_shown_as_it_is_sent() -> None:
    payment = make_payment()
    event = Event.objects.get()
    client = client_of(payment.merchant)
    reply = client.call("GET", f"/events/{event.public_id}")
    assert reply.status_code == 200
    assert reply.content == render_json(event_record(event))
    record = reply.json()
    assert {name: value for name, value in record.items() if name != "data"} == {
        "id": event.public_id,
        "object": "event",
        "type": "payment.created",
        "apiVersion": "v1",
        "createdAt": format_instant(event.created_at),
        "environment": "sandbox",
        "version": 1,
    }
    payment_record = client.call("GET", f"/payments/{payment.public_id}").json()
    assert record["data"] == {"object": payment_record}
    assert list(record["data"]["object"]) == list(payment_record), "the fields are in their order"


def test_amounts_keep_every_digit_on_their_way_through_the_database() -> None:
    payment = make_payment(amount="100.10")
    event = Event.objects.get(object_id=payment.pk)
    assert b'"amount":100.10,' in render_json(event_record(event))
    precise = {"amount": Decimal("9007199254740993.01"), "count": 3, "text": "\u0000 \u2028 ü", "none": None}
    event = make_event(payment.merchant, payload=precise)
    event.refresh_from_db()
    assert event.payload == precise
    assert list(event.payload) == list(precise)


def test_the_list_is_newest_first_and_filtered_by_type_and_time() -> None:
    payment = make_payment(STELLAR)
    pay_and_confirm(payment)
    make_payment()
    client = client_of(payment.merchant)
    reply = client.call("GET", "/events").json()
    assert [record["type"] for record in reply["data"]] == ["payment.completed", "payment.created"]
    assert (reply["totalCount"], reply["hasMore"]) == (2, False)
    only = client.call("GET", "/events?type=payment.completed").json()
    assert ([record["type"] for record in only["data"]], only["totalCount"]) == (["payment.completed"], 1)
    assert client.call("GET", "/events?created_gte=2199-01-01").json()["totalCount"] == 0
    page = client.call("GET", "/events?limit=1").json()
    rest = client.call("GET", f"/events?limit=1&starting_after={page['data'][0]['id']}")
    assert (page["hasMore"], page["totalCount"]) == (True, 2)
    assert keys_of(rest) == [reply["data"][1]["id"]]


def test_a_list_counts_no_further_than_its_most(monkeypatch: pytest.MonkeyPatch) -> None:
    payment = pay_and_confirm(make_payment())
    monkeypatch.setattr(viewsets, "MOST_COUNTED", 1)
    for path in ("/events", "/events?type=payment.created"):
        assert client_of(payment.merchant).call("GET", path).json()["totalCount"] == 1


@pytest.mark.parametrize(
    ("query", "code", "param"),
    [
        ("type=payment.imagined", "invalid_parameter", "type"),
        ("type=*", "invalid_parameter", "type"),
        ("object=x", "unknown_parameter", "object"),
        ("starting_after=evt_00000000000000000000000000", "invalid_parameter", "starting_after"),
    ],
)
def test_a_bad_filter_is_named(query: str, code: str, param: str) -> None:
    assert refusal(client_of(make_merchant()).call("GET", f"/events?{query}")) == (400, code, param)


def test_somebody_else_s_event_looks_like_none() -> None:
    event = make_event(make_merchant())
    asked = [
        (client_of(make_merchant()), event.public_id),
        (client_of(event.merchant, PRODUCTION), event.public_id),
        (client_of(event.merchant), unknown(ids.EVENT)),
    ]
    answers = [answer(client.call("GET", f"/events/{event_id}")) for client, event_id in asked]
    assert answers == [answers[0]] * len(answers)
    assert (answers[0][0], answers[0][1]["error"]["message"]) == (404, "No such event.")


# --- recording ---------------------------------------------------------------------------------------


def test_a_payment_s_events_carry_its_own_address() -> None:
    payment = make_payment(STELLAR, webhook_url=DIRECT)
    pay_and_confirm(payment)
    cancelled = make_payment(webhook_url=DIRECT)
    cancel_payment(cancelled)
    make_payment()
    urls = dict(Event.objects.exclude(object_id__in=[payment.pk, cancelled.pk]).values_list("type", "direct_url"))
    assert urls == {"payment.created": ""}
    told = Event.objects.filter(object_id__in=[payment.pk, cancelled.pk]).values_list("type", "direct_url")
    assert set(told) == {
        ("payment.created", DIRECT),
        ("payment.completed", DIRECT),
        ("payment.cancelled", DIRECT),
    }


@pytest.mark.django_db(transaction=True)
def test_outside_of_a_database_transaction_nothing_is_recorded() -> None:
    with pytest.raises(RuntimeError, match="in the database transaction"):
        record_events([an_event(make_merchant())])
    assert not Event.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_an_event_is_undone_with_its_change() -> None:
    payment = make_payment()
    with transaction.atomic():
        cancel_payment(payment)
        assert Event.objects.count() == 2
        transaction.set_rollback(True)
    assert Payment.objects.get().status == "created"
    assert list(Event.objects.values_list("type", flat=True)) == ["payment.created"]


def an_event(merchant: Model, type: str = catalogue.PAYMENT_CREATED) -> Event:
    return build_event(
        merchant_id=merchant.pk,
        environment="sandbox",
        type=type,
        object_id=ids.new_uuid(),
        version=1,
        payload={},
    )


def test_events_of_one_change_are_read_in_the_order_they_were_told() -> None:
    types = [catalogue.PAYMENT_REVERSED, catalogue.PAYMENT_UNDERPAID, catalogue.PAYMENT_LATE]
    for _ in range(20):
        merchant = make_merchant()
        record_events([an_event(merchant, type) for type in types])
        told = Event.objects.filter(merchant=merchant).order_by("pk")
        assert list(told.values_list("type", flat=True)) == types


# --- waking ------------------------------------------------------------------------------------------


@pytest.fixture
def woken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which tasks were asked for; the broker is not ours."""
    asked: list[str] = []
    monkeypatch.setattr(recording, "wake", asked.append)
    return asked


def test_recording_wakes_the_dispatcher_once_a_second(woken: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    merchant = make_merchant()
    for _ in range(5):
        record_events([an_event(merchant)])
    assert woken == ["webhooks.deliver_due"]
    monkeypatch.setattr(recording, "_woken_at", recording._woken_at - recording.WAKE_EVERY_SECONDS)
    record_events([an_event(merchant)])
    assert woken == ["webhooks.deliver_due"] * 2


@pytest.mark.parametrize("change", ["create", "cancel"])
def test_every_change_of_a_payment_wakes_it(change: str, woken: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    payment = make_payment()
    if change == "cancel":
        woken.clear()
        monkeypatch.setattr(recording, "_woken_at", float("-inf"))
        cancel_payment(payment)
    assert woken == ["webhooks.deliver_due"]


# --- the catalogue -----------------------------------------------------------------------------------


def test_the_catalogue_names_every_event_that_payments_tell() -> None:
    from payments.deposits.assessment_effects import ON_STATUS

    assert {*ON_STATUS.values()} <= set(catalogue.CATALOGUE)
    assert all(str(sentence).endswith(".") for sentence in catalogue.CATALOGUE.values())
    constants: dict[str, Any] = {name: value for name, value in vars(catalogue).items() if name.isupper()}
    words = {value for name, value in constants.items() if isinstance(value, str) and name != "EVERYTHING"}
    assert words == set(catalogue.CATALOGUE)
