"""Many deliveries at once: how many, to whom first, and how fast after an outage."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from django.utils import timezone

from merchants.models import Merchant
from tests.factories import make_merchant
from tests.sending.delivering import (
    deliver,
    endpoint_at,
    happen,
    pass_time,
    the_endpoint,
)
from tests.sending.receivers import Shop
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.sending import dispatch as dispatching
from webhooks.sending import recovering
from webhooks.sending.dispatch import dispatch

pytestmark = pytest.mark.django_db(transaction=True)


def test_at_most_four_requests_are_open_to_an_endpoint(shop: Shop, merchant: Merchant) -> None:
    endpoint_at(shop.behave("/a", seconds=0.03), merchant)
    endpoint_at(shop.behave("/b", seconds=0.03), merchant)
    happen(merchant, 40)
    assert deliver() == 80
    assert shop.most_in_flight == {"/a": 4, "/b": 4}


def test_a_failing_endpoint_gets_one_request_at_a_time(shop: Shop, merchant: Merchant) -> None:
    endpoint_at(shop.behave(status=500, seconds=0.05), merchant)
    happen(merchant)
    deliver()
    happen(merchant, 10)
    deliver()
    assert len(shop.arrivals) == 11
    assert shop.most_in_flight == {"/hook": 1}


def test_a_hanging_endpoint_delays_nobody(shop: Shop, merchant: Merchant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatching, "STOP_SECONDS", 0.1)
    for number in range(5):
        endpoint_at(shop.behave(f"/hanging/{number}", hangs=True), merchant)
    endpoint_at(shop.url("/works"), merchant)
    happen(merchant, 100)
    started = time.monotonic()

    dispatch(run_seconds=20, idle_seconds=1, is_stopping=lambda: len(shop.at("/works")) == 100)

    assert shop.at("/works")[-1].at - started < 3
    assert shop.most_in_flight["/hanging/0"] == 4


def test_a_long_backlog_of_one_does_not_stand_before_the_first_of_another(
    shop: Shop, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatching, "IN_FLIGHT_MAX", 4)
    monkeypatch.setattr(dispatching, "PROBES_MAX", 2)
    other = make_merchant()
    endpoint_at(shop.behave("/busy", seconds=0.02), merchant)
    endpoint_at(shop.url("/quiet"), other)
    happen(merchant, 100)
    happen(other)
    deliver()
    order = [arrival.path for arrival in shop.arrivals]
    assert len(order) == 101
    assert order.index("/quiet") < 8


def test_failing_endpoints_leave_room_for_those_that_work(
    shop: Shop, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatching, "IN_FLIGHT_MAX", 4)
    monkeypatch.setattr(dispatching, "PROBES_MAX", 2)
    monkeypatch.setattr(dispatching, "STOP_SECONDS", 0.1)
    for number in range(8):
        endpoint_at(shop.behave(f"/hanging/{number}", hangs=True), merchant)
    Endpoint.objects.update(failing_since=timezone.now())
    endpoint_at(shop.url("/works"), merchant)
    happen(merchant, 20)

    dispatch(run_seconds=10, idle_seconds=1, is_stopping=lambda: len(shop.at("/works")) == 20)

    assert len([arrival for arrival in shop.arrivals if arrival.path.startswith("/hanging")]) == 2


def test_after_an_outage_the_backlog_is_sent_slowly(shop: Shop, merchant: Merchant) -> None:
    endpoint_at(shop.behave(status=500), merchant)
    happen(merchant)
    deliver()
    pass_time(timedelta(minutes=10))
    shop.behave(status=200)
    happen(merchant, 24)
    shop.arrivals.clear()

    assert deliver() == 25

    instants = [arrival.at for arrival in shop.at()]
    busiest = max(sum(start <= instant < start + 1 for instant in instants) for start in instants)
    assert 5 <= busiest <= 12
    assert instants[-1] - instants[0] >= 2.0
    assert not the_endpoint().is_recovering
    happen(merchant, 25)
    shop.arrivals.clear()
    deliver()
    assert shop.at()[-1].at - shop.at()[0].at < 1


def test_after_a_hiccup_the_backlog_is_sent_as_fast_as_ever(shop: Shop, merchant: Merchant) -> None:
    endpoint_at(shop.behave(status=500), merchant)
    happen(merchant)
    deliver()
    pass_time(timedelta(seconds=10))
    shop.behave(status=200)
    happen(merchant, 24)
    shop.arrivals.clear()
    assert deliver() == 25
    assert shop.at()[-1].at - shop.at()[0].at < 1


@pytest.mark.parametrize("at_once", [recovering.RELEASED_AT_ONCE, 3])
def test_the_first_success_after_an_outage_releases_the_backlog_oldest_first_and_paced(
    shop: Shop, merchant: Merchant, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(recovering, "RELEASED_AT_ONCE", at_once)
    endpoint_at(shop.behave(status=503), merchant)
    backlog = sorted(happen(merchant, 8), key=lambda event: event.pk)
    deliver()
    pass_time(timedelta(minutes=1))
    deliver()
    pass_time(timedelta(seconds=1))
    assert set(Delivery.objects.values_list("attempts_left", flat=True)) == {8}  # the next try is in five minutes
    shop.behave(status=200)
    (new,) = happen(merchant)
    shop.arrivals.clear()

    assert deliver() == 9

    assert [arrival.message_id for arrival in shop.at()] == [each.public_id for each in [new, *backlog]]
    instants = [arrival.at for arrival in shop.at()]
    assert instants[-1] - instants[1] >= 0.6  # ten a second
    assert set(Delivery.objects.values_list("status", flat=True)) == {"delivered"}
    assert not the_endpoint().is_recovering


def test_a_delivery_that_fails_while_others_succeed_keeps_all_tries_of_its_schedule(
    shop: Shop, merchant: Merchant
) -> None:
    endpoint_at(shop.behave(refuses=b"indigestible"), merchant)
    happen(merchant, note="indigestible")
    deliver(idle_seconds=0.1)
    for _ in range(4):
        happen(merchant)
        deliver(idle_seconds=0.1)
    stuck = Delivery.objects.get(status="pending")
    assert (stuck.attempts_left, stuck.early_tries) == (9, 1)
    assert Attempt.objects.filter(delivery=stuck).count() == 2
