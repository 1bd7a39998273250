"""Many deliveries at once: how many, to whom first, and how fast after an outage."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from merchants.models import Merchant
from tests.factories import make_merchant
from tests.sending.delivering import (
    deliver,
    endpoint_at,
    fan_out_all,
    happen,
    pass_time,
    the_endpoint,
)
from tests.sending.receivers import Shop
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.sending import dispatch as dispatching
from webhooks.sending import half_open
from webhooks.sending.dispatch import dispatch
from webhooks.sending.outbound import Outbound

pytestmark = pytest.mark.django_db(transaction=True)

MUCH_LATER = {"Retry-After": "3600"}
"""Of a failure: so that its next try does not come into the test of itself."""

PATIENT = partial(Outbound, deadline_seconds=600.0)


def test_at_most_four_requests_are_open_to_an_endpoint(shop: Shop, merchant: Merchant) -> None:
    endpoint_at(shop.behave("/a", seconds=0.03), merchant)
    endpoint_at(shop.behave("/b", seconds=0.03), merchant)
    happen(merchant, 40)
    assert deliver(idle_seconds=0.3) == 80
    assert shop.most_in_flight == {"/a": 4, "/b": 4}


def test_a_failing_endpoint_gets_one_request_at_a_time(shop: Shop, merchant: Merchant) -> None:
    endpoint_at(shop.behave(status=500, seconds=0.05, headers=MUCH_LATER), merchant)
    happen(merchant)
    deliver(idle_seconds=0.3)
    happen(merchant, 10)
    deliver(idle_seconds=0.3)
    assert len(shop.arrivals) == 11
    assert shop.most_in_flight == {"/hook": 1}


def test_a_hanging_endpoint_delays_nobody(shop: Shop, merchant: Merchant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatching, "STOP_SECONDS", 0.1)
    monkeypatch.setattr(dispatching, "Outbound", PATIENT)
    for number in range(5):
        endpoint_at(shop.behave(f"/hanging/{number}", hangs=True), merchant)
    endpoint_at(shop.url("/works"), merchant)
    happen(merchant, 100)

    def is_over() -> bool:
        return len(shop.at("/works")) == 100 and len(shop.at("/hanging/0")) == 4

    dispatch(run_seconds=60, idle_seconds=60, is_stopping=is_over)

    assert is_over(), "though not one of the others has had a reply, or was given up"
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
    fan_out_all()
    deliver(idle_seconds=0.3)
    order = [arrival.path for arrival in shop.arrivals]
    assert len(order) == 101
    assert order.index("/quiet") < 8


def test_failing_endpoints_leave_room_for_those_that_work(
    shop: Shop, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatching, "IN_FLIGHT_MAX", 4)
    monkeypatch.setattr(dispatching, "PROBES_MAX", 2)
    monkeypatch.setattr(dispatching, "STOP_SECONDS", 0.1)
    monkeypatch.setattr(dispatching, "Outbound", PATIENT)
    for number in range(8):
        endpoint_at(shop.behave(f"/hanging/{number}", hangs=True), merchant)
    Endpoint.objects.update(failing_since=timezone.now())
    endpoint_at(shop.url("/works"), merchant)
    happen(merchant, 20)

    def hanging() -> int:
        return len([arrival for arrival in shop.arrivals if arrival.path.startswith("/hanging")])

    dispatch(run_seconds=60, idle_seconds=60, is_stopping=lambda: len(shop.at("/works")) == 20 and hanging() >= 2)

    assert (len(shop.at("/works")), hanging()) == (20, 2)


def test_after_an_outage_the_backlog_is_sent_slowly(shop: Shop, merchant: Merchant) -> None:
    endpoint_at(shop.behave(status=500), merchant)
    happen(merchant)
    deliver(idle_seconds=0.3)
    pass_time(timedelta(minutes=10))
    shop.behave(status=200)
    happen(merchant, 24)
    fan_out_all()  # a backlog: what becomes due only after the first success is none, and is not slowed down
    shop.arrivals.clear()

    assert deliver(idle_seconds=0.3) == 25

    instants = [arrival.at for arrival in shop.at()]
    assert instants[-1] - instants[0] >= 2.3  # ten a second, once the first has succeeded
    assert not the_endpoint().is_recovering
    last_paced = the_endpoint().next_claim_at
    happen(merchant, 25)
    assert deliver(idle_seconds=0.3) == 25
    assert the_endpoint().next_claim_at == last_paced


def test_after_a_hiccup_the_backlog_is_sent_as_fast_as_ever(shop: Shop, merchant: Merchant) -> None:
    endpoint_at(shop.behave(status=500), merchant)
    happen(merchant)
    deliver(idle_seconds=0.3)
    pass_time(timedelta(seconds=10))
    shop.behave(status=200)
    happen(merchant, 24)
    assert deliver(idle_seconds=0.3) == 25
    _, _, second, *_ = Attempt.objects.order_by("started_at")
    assert the_endpoint().next_claim_at <= second.started_at, "only the first of them was paced"


@pytest.mark.parametrize("at_once", [half_open.RELEASED_AT_ONCE, 3])
def test_the_first_success_after_an_outage_releases_the_backlog_oldest_first_and_paced(
    shop: Shop, merchant: Merchant, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(half_open, "RELEASED_AT_ONCE", at_once)
    endpoint_at(shop.behave(status=503), merchant)
    backlog = sorted(happen(merchant, 8), key=lambda event: event.pk)
    deliver(idle_seconds=0.3)
    pass_time(timedelta(minutes=1))
    deliver(idle_seconds=0.3)
    pass_time(timedelta(seconds=1))
    assert set(Delivery.objects.values_list("attempts_left", flat=True)) == {8}  # the next try is in five minutes
    shop.behave(status=200)
    (new,) = happen(merchant)
    shop.arrivals.clear()

    assert deliver(idle_seconds=0.3) == 9

    sent = Attempt.objects.filter(status_code=200).order_by("started_at")
    assert [attempt.delivery.event_id for attempt in sent] == [each.pk for each in [new, *backlog]]
    instants = [arrival.at for arrival in shop.at()]
    assert max(instants) - min(instants) >= 0.7  # ten a second, once the first has succeeded
    assert set(Delivery.objects.values_list("status", flat=True)) == {"delivered"}
    assert not the_endpoint().is_recovering


def test_a_delivery_that_fails_while_others_succeed_keeps_all_tries_of_its_schedule(
    shop: Shop, merchant: Merchant
) -> None:
    endpoint_at(shop.behave(refuses=b"indigestible", headers=MUCH_LATER), merchant)
    happen(merchant, note="indigestible")
    deliver(idle_seconds=0.1)
    for _ in range(4):
        happen(merchant)
        deliver(idle_seconds=0.1)
    stuck = Delivery.objects.get(status="pending")
    assert (stuck.attempts_left, stuck.early_tries) == (9, 1)
    assert Attempt.objects.filter(delivery=stuck).count() == 2
