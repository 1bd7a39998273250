"""Several dispatchers, one that ends, and what goes wrong around one.

Nothing here is timed: shops keep requests until the test opens the gate, and a test waits for what it needs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack

import pytest
from django.db import connection, transaction
from django.utils import timezone

from config.database.advisory_locks import LockClass
from merchants.models import Merchant
from tests.advisory_locks import holders
from tests.patience import until
from tests.sending.delivering import (
    beside,
    endpoint_at,
    fan_out_all,
    happen,
    is_all_delivered,
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


def another(*, is_stopping: Callable[[], bool], **seconds: float) -> int:
    """A dispatcher as another process would have it."""
    return Dispatcher(is_stopping).run(**seconds)


def test_two_dispatchers_never_send_the_same_delivery_twice(
    shop: Shop, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first has work enough with two endpoints, and both have started before the first answer: so both have work.
    monkeypatch.setattr(dispatching, "IN_FLIGHT_MAX", 6)
    for path in ("/a", "/b", "/c"):
        endpoint_at(shop.behave(path, hangs=True), merchant)
    events = happen(merchant, 150)

    with beside(another) as one, beside(another) as two:
        until(lambda: len(shop.arrivals) == 10)
        shop.open_gate()
        until(lambda: Attempt.objects.count() == 450)
    attempts = one.result(), two.result()

    assert sum(attempts) == len(shop.arrivals) == 450
    assert min(attempts) > 0
    for path in ("/a", "/b", "/c"):
        assert {arrival.message_id for arrival in shop.at(path)} == {event.public_id for event in events}
    assert max(shop.most_in_flight.values()) <= 4
    assert Attempt.objects.count() == 450
    assert is_all_delivered()


def test_a_second_call_in_one_process_wakes_the_first(
    shop: Shop, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatching, "BUSY_POLL_SECONDS", 600.0)
    monkeypatch.setattr(dispatching, "IDLE_POLL_SECONDS", 600.0)
    endpoint_at(shop.url(), merchant)
    happen(merchant)
    with beside() as first:
        for number in range(1, 21):
            until(lambda: Attempt.objects.count() == number)  # noqa: B023 - called here alone
            happen(merchant)
            assert dispatch(run_seconds=600, idle_seconds=600) == 0
        until(lambda: len(shop.arrivals) == 21)
        until(is_all_delivered)
    assert first.result() == 21


def test_the_next_call_takes_over_while_the_one_before_waits_for_its_last_replies(
    shop: Shop, merchant: Merchant
) -> None:
    endpoint_at(shop.behave("/slow", hangs=True), merchant)
    happen(merchant)
    fan_out_all()  # so that its first look finds something, however short its time
    with beside(run_seconds=1, idle_seconds=1) as first:
        until(lambda: len(shop.arrivals) == 1)
        until(lambda: dispatching._current is not None and not dispatching._current.is_taking)
        endpoint_at(shop.url("/other"), merchant)
        happen(merchant)

        with beside() as second:
            until(lambda: len(shop.at("/other")) == 1)
            assert len(shop.at("/slow")) == 1, "the one before has it until its reply has come"
            shop.open_gate()
            until(lambda: Attempt.objects.count() == 3)

    assert (first.result(), second.result()) == (1, 2)
    assert shop.most_in_flight["/slow"] == 1
    assert Delivery.objects.filter(status=DeliveryStatus.DELIVERED).count() == 3


def test_a_worker_that_stops_finishes_what_is_in_flight_and_gives_back_the_rest(
    shop: Shop, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatching, "STOP_SECONDS", 600.0)
    endpoint_at(shop.behave("/slow", seconds=0.5), merchant)
    endpoint_at(shop.behave("/hanging", hangs=True), merchant)
    happen(merchant)

    with beside(stops_when=lambda: len(shop.arrivals) == 2):
        until(lambda: Attempt.objects.count() == 1)
        monkeypatch.setattr(dispatching, "STOP_SECONDS", 0.0)

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
    endpoint_at(shop.behave(hangs=True), merchant)
    happen(merchant, 12)
    with beside():
        until(lambda: len(shop.arrivals) == 4)
        [dispatcher] = holders(LockClass.DISPATCHER)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [dispatcher])
        shop.open_gate()
        until(lambda: Attempt.objects.count() == 12)
    assert len(shop.arrivals) == len({arrival.message_id for arrival in shop.arrivals}) == 12
    assert Attempt.objects.count() == 12
    assert is_all_delivered()
    assert not EndpointLease.objects.exists()


def sent_after_a_pause_in_which_another_sent_it(shop: Shop, merchant: Merchant) -> int:
    """The dispatcher has taken deliveries, and then hears nothing of the database until others had its leases."""
    endpoint_at(shop.url(), merchant)
    happen(merchant, 3)
    fan_out_all()
    with ExitStack() as until_the_table_is_free, transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("LOCK TABLE webhooks_event")  # where it reads what to send
        until_the_table_is_free.enter_context(beside())
        until(EndpointLease.objects.exists)
        time.sleep(0.3)
        assert release_abandoned(timezone.now() + LEASE) == 1
        assert send_due() == 3
    assert is_all_delivered()
    return len(shop.arrivals)


def test_what_was_taken_too_long_ago_is_not_sent(
    shop: Shop, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatching, "FRESH_SECONDS", 0.2)
    assert sent_after_a_pause_in_which_another_sent_it(shop, merchant) == 0


@pytest.mark.slow
def test_without_asking_how_long_ago_it_would_be_sent_twice(
    shop: Shop, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatching, "FRESH_SECONDS", 600.0)
    assert sent_after_a_pause_in_which_another_sent_it(shop, merchant) == 3


def test_a_server_that_ends_every_session_is_gone_back_to(shop: Shop, merchant: Merchant) -> None:
    endpoint_at(shop.behave(), merchant)
    happen(merchant)
    with beside():
        until(lambda: len(shop.arrivals) == 1)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
            assert cursor.rowcount >= 2, "one session claims, another makes deliveries"
        happen(merchant, 3)
        until(lambda: Attempt.objects.count() == 4)
    assert len({arrival.message_id for arrival in shop.arrivals}) == 4
    assert is_all_delivered()


def test_an_endpoint_deleted_meanwhile_gets_no_more(shop: Shop, merchant: Merchant) -> None:
    endpoint = endpoint_at(shop.behave(hangs=True), merchant)
    happen(merchant, 10)
    with beside():
        until(lambda: len(shop.arrivals) == 4)
        delete_endpoint(endpoint=endpoint)
        shop.open_gate()
        until(lambda: Attempt.objects.count() == 4)
    assert len(shop.arrivals) == 4
    assert Attempt.objects.count() == 4
    assert {row.status for row in Delivery.objects.all()} == {DeliveryStatus.DISCARDED}
