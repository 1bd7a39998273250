from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction
from django.utils import timezone

from config.environments import Environment
from tests.factories import make_merchant
from tests.sending.delivering import endpoint_at, fan_out_all, happen
from webhooks.events.catalogue import PAYMENT_COMPLETED, PAYMENT_CREATED
from webhooks.models import Delivery, Endpoint, Event
from webhooks.schedule import ATTEMPTS
from webhooks.sending import fan_out as fanning_out
from webhooks.sending.fan_out import BATCH, fan_out
from webhooks.services import delete_endpoint, disable_endpoint, enable_endpoint
from webhooks.states import DeliveryStatus, DisabledReason

pytestmark = pytest.mark.django_db

SHOP, OTHER = "https://shop.example.com/a", "https://shop.example.com/b"


def told() -> set[tuple[str, str]]:
    """Which address is told of which event."""
    return {(row.endpoint.url, row.event.public_id) for row in Delivery.objects.select_related("endpoint", "event")}


def test_every_endpoint_that_listens_is_told_once() -> None:
    merchant = make_merchant()
    endpoint_at(SHOP, merchant)
    endpoint_at(OTHER, merchant, events=[PAYMENT_COMPLETED])
    (created,) = happen(merchant, type=PAYMENT_CREATED)
    (completed,) = happen(merchant, type=PAYMENT_COMPLETED)

    assert fan_out() == 2
    assert fan_out() == 0

    assert told() == {(SHOP, created.public_id), (SHOP, completed.public_id), (OTHER, completed.public_id)}
    delivery = Delivery.objects.first()
    assert delivery is not None
    assert (delivery.status, delivery.attempt_count, delivery.attempts_left) == (DeliveryStatus.PENDING, 0, ATTEMPTS)
    assert delivery.next_attempt_at is not None
    assert delivery.next_attempt_at <= timezone.now()
    assert (delivery.merchant_id, delivery.environment) == (merchant.pk, Environment.SANDBOX)


def test_nobody_else_is_told() -> None:
    merchant = make_merchant()
    endpoint_at(SHOP, make_merchant())
    happen(merchant)
    happen(merchant, environment=Environment.PRODUCTION)
    time.sleep(0.002)
    endpoint_at(OTHER, merchant)
    assert fan_out() == 2
    assert told() == set()
    assert not Event.objects.filter(is_fanned_out=False).exists()


def test_an_endpoint_is_told_of_nothing_from_before_it_was_there() -> None:
    merchant = make_merchant()
    happen(merchant)
    time.sleep(0.002)
    endpoint_at(SHOP, merchant)
    (after,) = happen(merchant)
    fan_out()
    assert told() == {(SHOP, after.public_id)}


def test_disabled_and_deleted_endpoints_are_not_told() -> None:
    merchant = make_merchant()
    disabled, deleted = endpoint_at(SHOP, merchant), endpoint_at(OTHER, merchant)
    happen(merchant)
    disable_endpoint(endpoint=disabled, reason=DisabledReason.MERCHANT)
    delete_endpoint(endpoint=deleted)
    assert fan_out() == 1
    assert told() == set()


def test_an_endpoint_is_not_told_of_what_happened_while_it_was_disabled() -> None:
    merchant = make_merchant()
    endpoint = endpoint_at(SHOP, merchant)
    disable_endpoint(endpoint=endpoint, reason=DisabledReason.MERCHANT)
    happen(merchant)
    time.sleep(0.002)
    enable_endpoint(endpoint=endpoint)
    (after,) = happen(merchant)
    fan_out()
    assert told() == {(SHOP, after.public_id)}


def test_a_payments_own_address_becomes_an_endpoint_once() -> None:
    merchant, own = make_merchant(), "https://shop.example.com/order/1042"
    endpoint_at(SHOP, merchant)
    (first,) = happen(merchant, direct_url=own)
    fan_out()
    (second,) = happen(merchant, direct_url=own)
    happen(make_merchant(), direct_url=own)
    fan_out()

    ours = Endpoint.objects.get(merchant=merchant, is_direct=True)
    assert (ours.url, ours.events, ours.secret_encrypted) == (own, ["*"], None)
    assert Endpoint.objects.filter(is_direct=True, url=own).count() == 2
    assert {row.event_id for row in Delivery.objects.filter(endpoint=ours)} == {first.pk, second.pk}
    assert Delivery.objects.filter(endpoint__url=SHOP).count() == 2


def test_a_payments_own_address_that_was_disabled_is_not_told() -> None:
    merchant, own = make_merchant(), "https://shop.example.com/order/1042"
    happen(merchant, direct_url=own)
    fan_out()
    disable_endpoint(endpoint=Endpoint.objects.get(is_direct=True), reason=DisabledReason.GONE)
    happen(merchant, direct_url=own)
    fan_out()
    assert [row.status for row in Delivery.objects.all()] == [DeliveryStatus.DISCARDED]


def test_a_batch_is_bounded() -> None:
    merchant = make_merchant()
    endpoint_at(SHOP, merchant)
    happen(merchant, BATCH + 1)
    assert (fan_out(), fan_out(), fan_out()) == (BATCH, 1, 0)
    assert Delivery.objects.count() == BATCH + 1


@pytest.mark.django_db(transaction=True)
def test_many_at_once_make_every_delivery_once() -> None:
    merchant = make_merchant()
    for number in range(4):
        endpoint_at(f"{SHOP}{number}", merchant)
    happen(merchant, 3 * BATCH, direct_url="https://shop.example.com/own")

    def work(_: int) -> None:
        try:
            fan_out_all()
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))

    assert Event.objects.filter(is_fanned_out=False).count() == 0
    assert Delivery.objects.count() == 3 * BATCH * 5
    assert Endpoint.objects.filter(is_direct=True).count() == 1


@pytest.mark.django_db(transaction=True)
def test_an_endpoint_disabled_meanwhile_keeps_nothing_pending() -> None:
    merchant = make_merchant()
    endpoint = endpoint_at(SHOP, merchant)
    happen(merchant)
    started = threading.Event()

    def disable() -> None:
        try:
            started.set()
            disable_endpoint(endpoint=endpoint, reason=DisabledReason.MERCHANT)
        finally:
            connection.close()

    other = threading.Thread(target=disable)
    with transaction.atomic():
        fan_out()
        other.start()
        started.wait()
        time.sleep(0.1)  # it waits for the endpoint's lock, or has finished without it
    other.join()

    assert [row.status for row in Delivery.objects.all()] == [DeliveryStatus.DISCARDED]


@pytest.mark.django_db(transaction=True)
def test_one_transaction_makes_not_many_more_deliveries_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fanning_out, "DELIVERIES_MAX", 10)
    merchant = make_merchant()
    for number in range(4):
        endpoint_at(f"{SHOP}{number}", merchant)
    happen(merchant, 8)
    assert [fan_out() for _ in range(4)] == [3, 3, 2, 0]
    assert Delivery.objects.count() == 32
