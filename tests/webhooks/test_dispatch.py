from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone
from standardwebhooks import Webhook

from config.environments import Environment
from merchants.models import Merchant
from tests.factories import make_merchant
from tests.webhooks.delivering import deliver, endpoint_at, happen, in_background, pass_time, until
from tests.webhooks.receivers import Shop
from webhooks import dispatch as dispatching
from webhooks.dispatch import Dispatcher, dispatch
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.schedule import WAITS
from webhooks.secrets import live_secrets
from webhooks.services import account_secret, delete_endpoint, register_endpoint, rotate_secret
from webhooks.states import DeliveryStatus, DisabledReason, EndpointStatus

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def merchant() -> Merchant:
    return make_merchant()


def the_delivery() -> Delivery:
    return Delivery.objects.get()


def the_endpoint() -> Endpoint:
    return Endpoint.objects.get()


# --- one delivery ------------------------------------------------------------------------------------


def test_an_event_arrives_at_once_and_its_attempt_is_kept(shop: Shop, merchant: Merchant) -> None:
    endpoint_at(shop.url(), merchant)
    (event,) = happen(merchant)
    started = time.monotonic()

    assert deliver() == 1

    (arrival,) = shop.at()
    assert arrival.message_id == event.public_id
    assert arrival.at - started < 1
    delivery = the_delivery()
    assert delivery.status == DeliveryStatus.DELIVERED
    assert (delivery.attempt_count, delivery.next_attempt_at, delivery.dispatcher) == (1, None, None)
    assert delivery.delivered_at is not None
    attempt = Attempt.objects.get()
    assert (attempt.number, attempt.status_code, bytes(attempt.reply), attempt.error) == (1, 200, b"ok", "")
    assert 0 <= attempt.duration_milliseconds < 1000


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
    assert (delivery.status, delivery.attempts_left, delivery.dispatcher) == (DeliveryStatus.PENDING, 9, None)
    assert delivery.next_attempt_at is not None
    ended_at = attempt.started_at + timedelta(milliseconds=attempt.duration_milliseconds)
    assert 3.9 <= (delivery.next_attempt_at - ended_at).total_seconds() <= 6.1
    assert (attempt.status_code, bytes(attempt.reply)) == (status, b"no")
    assert the_endpoint().failing_since == attempt.started_at


def test_after_ten_attempts_by_the_schedule_it_is_given_up(shop: Shop, merchant: Merchant) -> None:
    endpoint_at(shop.behave(status=500), merchant)
    happen(merchant)
    waits = []
    for _ in range(10):
        assert deliver(idle_seconds=0.1) == 1
        due, attempt = the_delivery().next_attempt_at, Attempt.objects.order_by("-number")[0]
        if due is not None:
            waits.append((due - attempt.started_at).total_seconds())
            pass_time(due - timezone.now() + timedelta(milliseconds=1))
            Endpoint.objects.update(failing_since=timezone.now())  # five days are not the matter here
    assert len(shop.arrivals) == Attempt.objects.count() == 10
    delivery = the_delivery()
    assert (delivery.status, delivery.attempt_count, delivery.attempts_left) == (DeliveryStatus.FAILED, 10, 0)
    for wait, planned in zip(waits, WAITS[1:], strict=True):
        assert 0.8 * planned.total_seconds() <= wait <= 1.2 * planned.total_seconds() + 1
    assert deliver(idle_seconds=0.1) == 0


def test_retry_after_is_honoured(shop: Shop, merchant: Merchant) -> None:
    endpoint_at(shop.behave(status=503, headers={"Retry-After": "600"}), merchant)
    happen(merchant)
    deliver()
    due = the_delivery().next_attempt_at
    assert due is not None
    assert 598 <= (due - timezone.now()).total_seconds() <= 600


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


# --- many of them ------------------------------------------------------------------------------------


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


def test_two_dispatchers_never_send_the_same_delivery_twice(
    shop: Shop, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Neither can take all the places there are, and both have started before the first answer: so both have work.
    monkeypatch.setattr(dispatching, "IN_FLIGHT_MAX", 6)
    for path in ("/a", "/b", "/c"):
        endpoint_at(shop.behave(path, hangs=True), merchant)
    events = happen(merchant, 150)

    def open_when_full() -> None:
        until(lambda: len(shop.arrivals) == 12, 30)
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

    assert dispatch(run_seconds=0.3, idle_seconds=0.3) == 2

    assert len(shop.at("/other")) == 1
    first.join()
    assert Delivery.objects.filter(status=DeliveryStatus.DELIVERED).count() == 3


# --- what goes wrong around it -----------------------------------------------------------------------


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
    assert (hanging.status, hanging.attempt_count, hanging.dispatcher) == (DeliveryStatus.PENDING, 0, None)
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
    assert not Delivery.objects.exclude(status=DeliveryStatus.DELIVERED, dispatcher=None).exists()


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
    assert {(row.status, row.dispatcher) for row in Delivery.objects.all()} == {(DeliveryStatus.DISCARDED, None)}


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
