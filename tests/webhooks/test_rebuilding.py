"""An event does not store a payment's QR code, and whoever is told of it gets it all the same, byte for byte."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from config.api.renderers import render_json
from payments.models import Payment
from payments.records import payment_record
from tests.factories import api_client, make_key
from tests.payments.scenes import ETHEREUM, make_payment, pay_and_confirm
from webhooks.models import Event
from webhooks.records import event_record
from webhooks.sending.fan_out import fan_out
from webhooks.sending.preparing import Preparation

pytestmark = pytest.mark.django_db


def stored(event: Event) -> str:
    """The text of the record, without the spaces after it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT payload FROM webhooks_event WHERE id = %s", [event.pk])
        [text] = cursor.fetchone() or [""]
        return str(text).rstrip()


def test_the_stored_record_has_no_picture_and_the_one_that_is_sent_has() -> None:
    payment = make_payment(ETHEREUM)
    event = Event.objects.get(object_id=payment.pk)
    assert '"qrCode":null' in stored(event)
    assert "base64" not in stored(event)
    before = payment_record(Payment.objects.get(pk=payment.pk))
    assert render_json(event_record(event)["data"]["object"]) == render_json(before), (
        "as the API answered, byte for byte"
    )


def test_postgresql_compresses_a_record_whose_deliveries_are_made() -> None:
    event = Event.objects.get(object_id=make_payment(ETHEREUM).pk)
    text = render_json(event.payload).decode()
    assert fan_out() == 1
    assert stored(event) == text
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_column_size(payload) FROM webhooks_event WHERE id = %s", [event.pk])
        [size] = cursor.fetchone() or [0]
    assert 0 < size < 0.8 * len(text)


def test_every_try_sends_the_same_bytes_also_of_events_that_were_stored_whole() -> None:
    payment = make_payment(ETHEREUM)
    event = Event.objects.get(object_id=payment.pk)
    (first,) = Preparation()._messages_of({event.pk}).values()
    (again,) = Preparation()._messages_of({event.pk}).values()
    assert first.body == again.body
    whole = render_json(payment_record(Payment.objects.get(pk=payment.pk))).decode()
    with connection.cursor() as cursor:  # as an earlier version stored it
        cursor.execute("UPDATE webhooks_event SET payload = %s WHERE id = %s", [whole, event.pk])
    (old,) = Preparation()._messages_of({event.pk}).values()
    assert old.body == first.body


def test_a_page_of_events_reads_the_pictures_at_once() -> None:
    payment = make_payment(ETHEREUM)
    client = api_client(make_key(payment.merchant))
    with CaptureQueriesContext(connection) as one:
        assert len(client.call("GET", "/events").json()["data"]) == 1
    pay_and_confirm(payment)
    with CaptureQueriesContext(connection) as several:
        shown = client.call("GET", "/events").json()["data"]
    assert [each["type"] for each in shown] == ["payment.completed", "payment.created"]
    assert len(several) <= len(one)
    qr_code = client.call("GET", f"/payments/{shown[0]['data']['object']['id']}").json()["qrCode"]
    assert {each["data"]["object"]["qrCode"] for each in shown} == {qr_code}


def test_an_event_is_shorter_by_the_picture() -> None:
    payment = make_payment(ETHEREUM)
    event = Event.objects.get(object_id=payment.pk)
    record = payment_record(Payment.objects.get(pk=payment.pk))
    saved = len(render_json(record)) - len(stored(event))
    assert saved == len(record["qrCode"]) + len('""') - len("null")
    assert saved > 500
