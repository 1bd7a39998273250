"""Several dispatchers, one that ends, and what goes wrong around one."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction
from django.utils import timezone

from merchants.models import Merchant
from tests.sending.delivering import (
    deliver,
    endpoint_at,
    fan_out_all,
    happen,
    in_background,
    until,
)
from tests.sending.receivers import Shop
from tests.webhooks.scenes import send_due
from webhooks.models import Attempt, Delivery, EndpointLease
from webhooks.sending import dispatch as dispatching
from webhooks.sending.dispatch import Dispatcher, dispatch
from webhooks.sending.leases import LEASE, release_abandoned
from webhooks.services import delete_endpoint
from webhooks.states import DeliveryStatus

pytestmark = pytest.mark.django_db(transaction=True)


def test_two_dispatchers_never_send_the_same_delivery_twice(
    shop: Shop, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first has work enough with two endpoints, and both have started before the first answer: so both have work.
    monkeypatch.setattr(dispatching, "IN_FLIGHT_MAX", 6)
    for path in ("/a", "/b", "/c"):
        endpoint_at(shop.behave(path, hangs=True), merchant)
    events = happen(merchant, 150)

    def open_when_full() -> None:
        until(lambda: len(shop.arrivals) == 10, 30)
        shop.open_gate()

    def work(_: int) -> int:
        return Dispatcher().run(run_seconds=30, idle_seconds=0.5)

    with ThreadPoolExecutor(3) as pool:
        pool.submit(open_when_full)
        attempts = list(pool.map(work, range(2)))

    assert sum(attempts) == len(shop.arrivals) == 450
    assert min(attempts) > 0
    for path in ("/a", "/b", "/c"):
        assert {arrival.message_id for arrival in shop.at(path)} == {event.public_id for event in events}
    assert max(shop.most_in_flight.values()) <= 4
    assert Attempt.objects.count() == 450
    assert not Delivery.objects.exclude(status=DeliveryStatus.DELIVERED).exists()


def test_a_second_call_in_one_process_wakes_the_first(
    shop: Shop, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatching, "BUSY_POLL_SECONDS", 3.0)
    monkeypatch.setattr(dispatching, "IDLE_POLL_SECONDS", 3.0)
    endpoint_at(shop.url(), merchant)
    first = in_background(lambda: dispatch(run_seconds=10, idle_seconds=3))
    time.sleep(0.5)
    happen(merchant)
    started = time.monotonic()

    assert dispatch(run_seconds=10, idle_seconds=3) == 0

    assert time.monotonic() - started < 0.1
    until(lambda: len(shop.arrivals) == 1, seconds=1)
    first.join()


def test_the_next_call_takes_over_while_the_one_before_waits_for_its_last_replies(
    shop: Shop, merchant: Merchant
) -> None:
    endpoint_at(shop.behave("/slow", seconds=1.5), merchant)
    happen(merchant)
    first = in_background(lambda: dispatch(run_seconds=0.3, idle_seconds=0.3))
    until(lambda: len(shop.arrivals) == 1)
    time.sleep(0.5)
    endpoint_at(shop.url("/other"), merchant)
    happen(merchant)

    assert dispatch(run_seconds=10, idle_seconds=2) == 2

    assert len(shop.at("/other")) == 1
    assert shop.most_in_flight["/slow"] == 1, "the one before has it until its reply has come"
    first.join()
    assert Delivery.objects.filter(status=DeliveryStatus.DELIVERED).count() == 3


def test_a_worker_that_stops_finishes_what_is_in_flight_and_gives_back_the_rest(
    shop: Shop, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatching, "STOP_SECONDS", 1.0)
    endpoint_at(shop.behave("/slow", seconds=0.5), merchant)
    endpoint_at(shop.behave("/hanging", hangs=True), merchant)
    happen(merchant)
    started = time.monotonic()

    dispatch(run_seconds=20, idle_seconds=1, is_stopping=lambda: len(shop.arrivals) == 2)

    assert time.monotonic() - started < 3
    slow, hanging = (
        Delivery.objects.get(endpoint__url=shop.url("/slow")),
        Delivery.objects.exclude(attempt_count=1).get(),
    )
    assert slow.status == DeliveryStatus.DELIVERED
    assert (hanging.status, hanging.attempt_count) == (DeliveryStatus.PENDING, 0)
    assert not EndpointLease.objects.exists()
    assert hanging.next_attempt_at is not None
    assert hanging.next_attempt_at <= timezone.now()


def test_a_database_that_goes_away_in_the_middle_costs_no_attempt_and_no_event(shop: Shop, merchant: Merchant) -> None:
    endpoint_at(shop.behave(seconds=0.4), merchant)
    happen(merchant, 12)
    worker = in_background(lambda: deliver(idle_seconds=1))
    until(lambda: len(shop.arrivals) == 4)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND granted"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        )
        assert cursor.rowcount == 1
    worker.join()
    assert len(shop.arrivals) == len({arrival.message_id for arrival in shop.arrivals}) == 12
    assert Attempt.objects.count() == 12
    assert not Delivery.objects.exclude(status=DeliveryStatus.DELIVERED).exists()
    assert not EndpointLease.objects.exists()


def sent_after_a_pause_in_which_another_sent_it(shop: Shop, merchant: Merchant) -> int:
    """The dispatcher has taken deliveries, and then hears nothing of the database until others had its leases."""
    endpoint_at(shop.url(), merchant)
    happen(merchant, 3)
    fan_out_all()
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("LOCK TABLE webhooks_event")  # where it reads what to send
        worker = in_background(lambda: deliver(idle_seconds=0.5))
        until(EndpointLease.objects.exists)
        time.sleep(0.3)
        assert release_abandoned(timezone.now() + LEASE) == 1
        assert send_due() == 3
    worker.join()
    assert not Delivery.objects.exclude(status=DeliveryStatus.DELIVERED).exists()
    return len(shop.arrivals)


def test_what_was_taken_too_long_ago_is_not_sent(
    shop: Shop, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatching, "FRESH_SECONDS", 0.2)
    assert sent_after_a_pause_in_which_another_sent_it(shop, merchant) == 0


def test_without_asking_how_long_ago_it_would_be_sent_twice(shop: Shop, merchant: Merchant) -> None:
    assert sent_after_a_pause_in_which_another_sent_it(shop, merchant) == 3


def test_a_server_that_ends_every_session_is_gone_back_to(shop: Shop, merchant: Merchant) -> None:
    endpoint_at(shop.behave(), merchant)
    happen(merchant)
    worker = in_background(lambda: deliver(idle_seconds=2))
    until(lambda: len(shop.arrivals) == 1)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        assert cursor.rowcount >= 2, "one session claims, another makes deliveries"
    happen(merchant, 3)
    worker.join()
    assert len({arrival.message_id for arrival in shop.arrivals}) == 4


def test_an_endpoint_deleted_meanwhile_gets_no_more(shop: Shop, merchant: Merchant) -> None:
    endpoint = endpoint_at(shop.behave(seconds=0.4), merchant)
    happen(merchant, 10)
    worker = in_background(deliver)
    until(lambda: len(shop.arrivals) == 4)
    delete_endpoint(endpoint=endpoint)
    worker.join()
    assert len(shop.arrivals) == 4
    assert Attempt.objects.count() == 4
    assert {row.status for row in Delivery.objects.all()} == {DeliveryStatus.DISCARDED}
