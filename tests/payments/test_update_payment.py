"""PATCH /payments/:id: what a payment says about its order, before and after it is over."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from django.test import Client

from merchants.roles import Role
from payments.dashboard.exports import rows
from payments.dashboard.search.indexing import index_payments
from payments.dashboard.search.models import SearchEntry
from payments.models import Payment
from payments.services import cancel_payment
from tests.dashboard.conftest import browser_of
from tests.factories import api_client, make_key, make_member, make_merchant
from tests.payments.creating import assert_refused, create
from tests.payments.scenes import (
    POLYGON,
    STELLAR,
    assert_all_is_well,
    events,
    everything,
    make_payment,
    now,
    pay_and_confirm,
)

pytestmark = pytest.mark.django_db

TWO_CUPS = {"name": "Espresso cup", "quantity": 2, "amount": 21.5}
SHIPPING = {"name": "Shipping", "amount": 3.49}
DISCOUNT = {"name": "Welcome", "amount": -5}


def update(payment: Payment, **fields: Any) -> Any:
    client = api_client(make_key(payment.merchant))
    return client.call("PATCH", f"/payments/{payment.public_id}", json_body=fields)


@pytest.mark.parametrize(
    ("state", "status"),
    [(lambda payment: payment, "created"), (pay_and_confirm, "completed"), (cancel_payment, "cancelled")],
)
def test_description_note_and_names_of_the_metadata_are_changed_at_any_time(state: Any, status: str) -> None:
    payment = make_payment(STELLAR, metadata={"order": "1", "cart": {"a": [1]}, "nothing": None})
    state(payment)
    told, version = events(payment), now(payment).version
    reply = update(payment, description="Order 1", note="Call first", metadata={"cart": None, "n": 1.5})
    record = reply.json()
    assert (reply.status_code, record["status"], record["version"]) == (200, status, version + 1)
    assert (record["description"], record["note"]) == ("Order 1", "Call first")
    assert record["metadata"] == {"order": "1", "nothing": None, "n": 1.5}
    assert events(payment) == [*told, "payment.updated"]
    before = everything()
    assert update(payment, description="Order 1", metadata={"n": 1.5, "gone": None}).status_code == 200
    assert update(payment, description=None, note=None, metadata=None).json()["description"] == "Order 1"
    assert everything() == before  # what changes nothing is no event
    assert update(payment, description="", note="").json()["note"] is None
    assert_all_is_well()


def test_a_refused_change_leaves_everything_as_it_was() -> None:
    payment = make_payment(metadata={"a": "x" * 10_000})
    before = everything()
    for fields, param, words in (
        ({"metadata": {"b": "x" * 10_000}}, "metadata", "Would have 20,0"),
        ({"note": "x" * 501}, "note", "at most 500"),
        ({"description": "a\nb"}, "description", "control characters"),
        ({"amount": 3}, "amount", "Unknown parameter"),
        ({"items": []}, "items", "Unknown parameter"),
    ):
        error = update(payment, **fields).json()["error"]
        assert (error["param"], words in error["message"]) == (param, True), error
    assert everything() == before
    stranger = api_client(make_key(make_merchant()))
    assert stranger.call("PATCH", f"/payments/{payment.public_id}", json_body={"note": "x"}).status_code == 404


def test_the_payer_sees_description_and_items_and_never_the_note() -> None:
    reply = create(description="Order <7>", items=[TWO_CUPS, SHIPPING, DISCOUNT], note="A bad payer", currency="EUR")
    record = reply.json()
    assert record["items"] == [TWO_CUPS, {**SHIPPING, "quantity": 1}, {**DISCOUNT, "quantity": 1}]
    payment = Payment.objects.get()
    page = Client().get(f"/pay/{payment.public_id}")
    assert page.context["payment"].items == ("2 × Espresso cup 21.50 EUR", "Shipping 3.49 EUR", "Welcome −5.00 EUR")
    assert "Order &lt;7&gt;" in page.text
    assert "A bad payer" not in page.text
    listed = api_client(make_key(payment.merchant)).call("GET", "/payments").json()["data"][0]
    assert (listed["items"], listed["note"]) == (record["items"], "A bad payer")


@pytest.mark.parametrize(
    ("items", "currency", "param", "message"),
    [
        ([TWO_CUPS], "EUR", "items", "The items add up to 21.50 EUR, and the payment's amount is 19.99 EUR."),
        ([TWO_CUPS, {"name": "Shipping"}], "EUR", "items", "Give each item its amount, or none of them."),
        ([{"name": "Cup", "amount": 19.991}], "EUR", "items.0.amount", "at most 2 decimal places"),
        ([{"name": "Cup", "quantity": 0}], "EUR", "items.0.quantity", "Must be between 1 and 1000000."),
        ([{"name": "Cup"}] * 101, "EUR", "items", "no more than 100"),
    ],
)
def test_items_that_are_not_those_of_the_price_are_refused(items: Any, currency: str, param: str, message: str) -> None:
    assert_refused(create(items=items, currency=currency), code="invalid_parameter", param=param, message=message)


def test_items_without_amounts_are_only_names() -> None:
    assert create(items=[{"name": "Cup", "quantity": 3}]).json()["items"] == [
        {"name": "Cup", "quantity": 3, "amount": None}
    ]


def test_a_search_finds_the_new_words_and_an_export_has_them() -> None:
    payment = make_payment(POLYGON, metadata={"order": "A-17"})
    index_payments()
    update(payment, note="=Zebra", metadata={"order": "B-18"})
    while index_payments():
        pass
    words = SearchEntry.objects.get(payment_id=payment.pk).text
    assert ("=zebra" in words, "b-18" in words, "a-17" in words) == (True, True, False)
    lines = rows.heading() + rows.rows_csv(rows.read(Payment.objects.filter(pk=payment.pk)))
    [row] = csv.DictReader(io.StringIO(lines))
    assert (row["note"], row["items"], row["description"]) == ("'=Zebra", "", "")


def test_people_write_a_note_on_the_page_and_viewers_read_it() -> None:
    payment = make_payment()
    member, viewer = make_member(payment.merchant), make_member(payment.merchant, role=Role.VIEWER)
    path = f"/dashboard/payments/{payment.public_id}"
    assert browser_of(member).post(f"{path}/note", {"note": "Sent with the second parcel"}).status_code == 302
    assert now(payment).note == "Sent with the second parcel"
    assert events(payment)[-1] == "payment.updated"
    assert "Sent with the second parcel" in browser_of(viewer).get(path).text
    assert browser_of(viewer).post(f"{path}/note", {"note": ""}).status_code == 403
    assert browser_of(member).post(f"{path}/note", {"note": "x" * 501}).status_code == 200
    assert now(payment).note == "Sent with the second parcel"
