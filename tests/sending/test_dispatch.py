"""One delivery, from the event to the arrival, the attempt and what follows from it."""

from __future__ import annotations

import json
import time
from datetime import datetime, timedelta

import pytest
from django.utils import timezone
from standardwebhooks import Webhook

from config.environments import Environment
from merchants.models import Merchant
from tests.patience import until
from tests.sending.delivering import (
    beside,
    deliver,
    endpoint_at,
    happen,
    pass_time,
    the_delivery,
    the_endpoint,
)
from tests.sending.receivers import Shop
from webhooks.endpoints.secrets import live_secrets
from webhooks.models import Attempt, Delivery, Endpoint, EndpointLease
from webhooks.schedule import WAITS
from webhooks.sending import dispatch as dispatching
from webhooks.services import account_secret, register_endpoint, rotate_secret
from webhooks.states import DeliveryStatus, DisabledReason, EndpointStatus

pytestmark = pytest.mark.django_db(transaction=True)

MILLISECOND = timedelta(milliseconds=1)


def ended_at(attempt: Attempt) -> datetime:
    """Less than a millisecond before its reply had come."""
    return attempt.started_at + timedelta(milliseconds=attempt.duration_milliseconds)


def test_an_event_arrives_at_once_and_its_attempt_is_kept(
    shop: Shop, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatching, "BUSY_POLL_SECONDS", 600.0)  # nothing waits for the next look
    endpoint_at(shop.url(), merchant)
    (event,) = happen(merchant)
    started = timezone.now()

    with beside() as dispatcher:
        until(Attempt.objects.exists)
    took = timezone.now() - started

    assert dispatcher.result() == 1
    (arrival,) = shop.at()
    assert arrival.message_id == event.public_id
    delivery = the_delivery()
    assert delivery.status == DeliveryStatus.DELIVERED
    assert (delivery.attempt_count, delivery.next_attempt_at) == (1, None)
    assert not EndpointLease.objects.exists()
    assert delivery.delivered_at is not None
    attempt = Attempt.objects.get()
    assert (attempt.number, attempt.status_code, bytes(attempt.reply), attempt.error) == (1, 200, b"ok", "")
    assert 0 <= attempt.duration_milliseconds <= took / timedelta(milliseconds=1)


def test_the_public_library_verifies_the_exact_bytes_with_each_live_secret(shop: Shop, merchant: Merchant) -> None:
    endpoint, first = register_endpoint(merchant=merchant, environment=Environment.SANDBOX, url=shop.url())
    _, second = rotate_secret(endpoint=endpoint)
    (event,) = happen(merchant)
    deliver()
    (arrival,) = shop.at()
    assert arrival.headers["content-type"] == "application/json"
    for secret in (first, second):
        verified = Webhook(secret).verify(arrival.body, dict(arrival.headers))
        assert verified["id"] == event.public_id
        assert verified["data"]["object"]["note"] == "Grüße, 東京"
    assert len(arrival.headers["webhook-signature"].split()) == 2


def test_a_payments_own_address_is_signed_with_the_accounts_secret(shop: Shop, merchant: Merchant) -> None:
    happen(merchant, direct_url=shop.url("/order/1042"))
    assert deliver() == 1
    (arrival,) = shop.at("/order/1042")
    held = account_secret(merchant_id=merchant.pk, environment=Environment.SANDBOX)
    (secret,) = live_secrets(held, timezone.now())
    Webhook(secret).verify(arrival.body, dict(arrival.headers))


def test_another_attempt_sends_the_same_message_with_its_own_time(shop: Shop, merchant: Merchant) -> None:
    _, secret = register_endpoint(merchant=merchant, environment=Environment.SANDBOX, url=shop.behave(status=500))
    happen(merchant)
    deliver()
    time.sleep(1)
    pass_time(timedelta(seconds=10))
    shop.behave(status=204, body=b"")
    deliver()
    first, second = shop.at()
    assert (first.message_id, first.body) == (second.message_id, second.body)
    assert int(second.headers["webhook-timestamp"]) > int(first.headers["webhook-timestamp"])
    Webhook(secret).verify(second.body, dict(second.headers))
    assert [attempt.status_code for attempt in Attempt.objects.order_by("number")] == [500, 204]
    assert the_delivery().status == DeliveryStatus.DELIVERED


@pytest.mark.parametrize("status", [500, 302, 404, 301, 429])
def test_a_failure_is_tried_again_five_seconds_later(shop: Shop, merchant: Merchant, status: int) -> None:
    headers = {"Location": shop.url("/elsewhere")}
    endpoint_at(shop.behave(status=status, body=b"no", headers=headers), merchant)
    happen(merchant)
    assert deliver() == 1
    assert len(shop.arrivals) == 1
    delivery, attempt = the_delivery(), Attempt.objects.get()
    assert (delivery.status, delivery.attempts_left) == (DeliveryStatus.PENDING, 9)
    assert delivery.next_attempt_at is not None
    assert timedelta(seconds=4) <= delivery.next_attempt_at - ended_at(attempt) <= timedelta(seconds=6) + MILLISECOND
    assert (attempt.status_code, bytes(attempt.reply)) == (status, b"no")
    assert the_endpoint().failing_since == attempt.started_at


def test_after_ten_attempts_by_the_schedule_it_is_given_up(shop: Shop, merchant: Merchant) -> None:
    endpoint_at(shop.behave(status=500), merchant)
    happen(merchant)
    waits = []
    for _ in range(10):
        assert deliver() == 1
        due, attempt = the_delivery().next_attempt_at, Attempt.objects.order_by("-number")[0]
        if due is not None:
            waits.append(due - ended_at(attempt))
            pass_time(due - timezone.now() + timedelta(milliseconds=1))
            Endpoint.objects.update(failing_since=timezone.now())  # five days are not the matter here
    assert len(shop.arrivals) == Attempt.objects.count() == 10
    delivery = the_delivery()
    assert (delivery.status, delivery.attempt_count, delivery.attempts_left) == (DeliveryStatus.FAILED, 10, 0)
    for wait, planned in zip(waits, WAITS[1:], strict=True):
        assert 0.8 * planned <= wait <= 1.2 * planned + MILLISECOND
    assert deliver() == 0


def test_retry_after_is_honoured(shop: Shop, merchant: Merchant) -> None:
    endpoint_at(shop.behave(status=503, headers={"Retry-After": "600"}), merchant)
    happen(merchant)
    deliver()
    due = the_delivery().next_attempt_at
    assert due is not None
    asked = timedelta(minutes=10)
    assert asked <= due - ended_at(Attempt.objects.get()) <= asked + MILLISECOND


def test_an_endpoint_that_is_gone_gets_one_request_and_is_disabled(shop: Shop, merchant: Merchant) -> None:
    endpoint_at(shop.behave(status=410), merchant)
    happen(merchant)
    deliver()
    happen(merchant, 5)
    deliver()
    assert len(shop.arrivals) == 1
    endpoint = the_endpoint()
    assert (endpoint.status, endpoint.disabled_reason) == (EndpointStatus.DISABLED, DisabledReason.GONE)
    assert endpoint.is_mail_due
    assert (the_delivery().status, the_delivery().attempt_count) == (DeliveryStatus.DISCARDED, 1)


def test_an_endpoint_that_fails_for_five_days_is_disabled(shop: Shop, merchant: Merchant) -> None:
    endpoint_at(shop.behave(status=500), merchant)
    happen(merchant)
    deliver()
    pass_time(timedelta(days=4, hours=23))
    happen(merchant)
    deliver()
    assert the_endpoint().status == EndpointStatus.ENABLED
    pass_time(timedelta(hours=2))
    deliver()
    endpoint = the_endpoint()
    assert (endpoint.status, endpoint.disabled_reason) == (EndpointStatus.DISABLED, DisabledReason.FAILING)
    assert endpoint.is_mail_due
    assert {row.status for row in Delivery.objects.all()} == {DeliveryStatus.DISCARDED}


def test_one_success_ends_the_count_of_five_days(shop: Shop, merchant: Merchant) -> None:
    endpoint_at(shop.behave(status=500), merchant)
    happen(merchant)
    deliver()
    pass_time(timedelta(days=4))
    shop.behave(status=200)
    deliver()
    assert the_endpoint().failing_since is None
    shop.behave(status=500)
    happen(merchant)
    deliver()
    pass_time(timedelta(days=2))
    deliver()
    assert the_endpoint().status == EndpointStatus.ENABLED


def test_production_calls_by_https_only(shop: Shop, merchant: Merchant) -> None:
    happen(merchant, direct_url=shop.url(), environment=Environment.PRODUCTION)
    assert deliver() == 1
    assert shop.arrivals == []
    assert Attempt.objects.get().error == "Must begin with https:// in production."


def test_production_never_calls_this_machine(shop: Shop, merchant: Merchant) -> None:
    happen(merchant, direct_url="https://localhost/hook", environment=Environment.PRODUCTION)
    assert deliver() == 1
    assert Attempt.objects.get().error.startswith("Must be a public address")


def test_a_secret_that_cannot_be_read_stops_nobody_else(shop: Shop, merchant: Merchant) -> None:
    broken = endpoint_at(shop.url("/broken"), merchant)
    endpoint_at(shop.url("/works"), merchant)
    Endpoint.objects.filter(pk=broken.pk).update(secret_encrypted=b"\x01" + bytes(60))
    happen(merchant)
    assert deliver() == 2
    assert len(shop.at("/works")) == 1
    assert shop.at("/broken") == []
    assert Attempt.objects.get(delivery__endpoint=broken).error == (
        "The secret of this webhook cannot be read any more. Rotate it."
    )


def test_the_body_is_what_the_api_shows(shop: Shop, merchant: Merchant) -> None:
    endpoint_at(shop.url(), merchant)
    (event,) = happen(merchant)
    deliver()
    body = json.loads(shop.at()[0].body)
    assert body["id"] == event.public_id
    assert body["type"] == event.type
    assert body["data"]["object"] == event.payload
