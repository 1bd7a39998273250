"""GET /deliveries, redelivery, replay and tests: what can be looked up and sent again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from config import ids
from config.api.renderers import format_instant
from tests.factories import make_merchant
from tests.webhooks.scenes import (
    PRODUCTION,
    SUCCESS,
    URL,
    answer,
    answering,
    client_of,
    current,
    everything,
    keys_of,
    make_all_due,
    make_delivery,
    make_endpoint,
    make_event,
    now,
    refusal,
    send_due,
    unknown,
)
from webhooks import services
from webhooks.models import Attempt, Delivery, Endpoint, Event
from webhooks.schedule import ATTEMPTS, Reply
from webhooks.sending.fan_out import fan_out
from webhooks.services import (
    ReplayTooLarge,
    delete_endpoint,
    disable_endpoint,
    redeliver,
    replay,
    send_test,
    update_endpoint,
)
from webhooks.states import DisabledReason

pytestmark = pytest.mark.django_db

LONG_AGO = "2026-01-01"
FAR_AHEAD = "2199-12-31"


# --- looking up --------------------------------------------------------------------------------------


def test_a_delivery_shows_every_attempt_and_the_beginning_of_each_reply() -> None:
    endpoint = make_endpoint()
    delivery = make_delivery(endpoint)
    send_due(answering(500, "Grüße: ".encode() + b"x" * 5000 + b"\xff"))
    make_all_due()
    send_due(lambda url: Reply(error="No complete reply within 15 seconds."))
    make_all_due()
    send_due(lambda url: Reply(status_code=204, body=b"\xff\x00ok"))
    record = client_of(endpoint.merchant).call("GET", f"/deliveries/{delivery.public_id}").json()
    attempts = record.pop("attempts")
    delivered = now(delivery)
    assert delivered.delivered_at is not None
    assert record == {
        "id": delivery.public_id,
        "object": "delivery",
        "status": "delivered",
        "event": delivery.event.public_id,
        "eventType": "payment.completed",
        "endpoint": endpoint.public_id,
        "url": URL,
        "attemptCount": 3,
        "nextAttemptAt": None,
        "deliveredAt": format_instant(delivered.delivered_at),
        "environment": "sandbox",
        "createdAt": format_instant(delivery.created_at),
    }
    assert [(each["number"], each["status"], each["statusCode"], each["error"]) for each in attempts] == [
        (1, "failed", 500, None),
        (2, "failed", None, "No complete reply within 15 seconds."),
        (3, "succeeded", 204, None),
    ]
    assert [each["durationMs"] for each in attempts] == [120, 120, 120]
    assert [each["reply"] for each in attempts] == ["Grüße: " + "x" * 991, "", "\ufffd\x00ok"]
    assert all(each["startedAt"].endswith("Z") for each in attempts)


def test_the_list_is_filtered_by_endpoint_event_status_and_time() -> None:
    merchant = make_merchant()
    first, second = make_endpoint(merchant), make_endpoint(merchant, url="https://other.example.com/")
    send_due()
    early = make_event(merchant)
    fan_out()
    send_due(lambda url: SUCCESS if url == URL else Reply(status_code=500))
    late = make_event(merchant, "payment.expired")
    fan_out()
    make_delivery(make_endpoint())
    client = client_of(merchant)

    def found(query: str) -> set[tuple[str, str]]:
        reply = client.call("GET", f"/deliveries?limit=100&{query}").json()
        assert reply["totalCount"] == len(reply["data"])
        return {(record["endpoint"], record["event"]) for record in reply["data"]}

    everywhere = {(endpoint.public_id, event.public_id) for endpoint in (first, second) for event in (early, late)}
    assert found("") == everywhere
    assert found(f"endpoint={first.public_id}") == {pair for pair in everywhere if pair[0] == first.public_id}
    assert found(f"event={late.public_id}") == {pair for pair in everywhere if pair[1] == late.public_id}
    assert found("status=delivered") == {(first.public_id, early.public_id)}
    assert found(f"status=pending&endpoint={second.public_id}") == {
        (second.public_id, early.public_id),
        (second.public_id, late.public_id),
    }
    assert found("status=discarded") == set()
    assert found("created_gte=2199-01-01") == set()
    assert found("created_lte=2026-01-01") == set()
    assert found(f"created_gte={LONG_AGO}&created_lte={FAR_AHEAD}") == everywhere
    assert found(f"endpoint={unknown(ids.WEBHOOK)}") == set()
    assert found(f"event={unknown(ids.EVENT)}") == set()
    stranger = client_of(make_merchant())
    assert stranger.call("GET", f"/deliveries?endpoint={first.public_id}").json()["totalCount"] == 0


@pytest.mark.parametrize(
    ("query", "code", "param"),
    [
        ("endpoint=nonsense", "invalid_parameter", "endpoint"),
        ("endpoint=evt_00000000000000000000000000", "invalid_parameter", "endpoint"),
        ("event=", "invalid_parameter", "event"),
        ("status=lost", "invalid_parameter", "status"),
        ("webhook=x", "unknown_parameter", "webhook"),
        ("limit=0", "invalid_parameter", "limit"),
        ("created_gte=yesterday", "invalid_parameter", "created_gte"),
        ("status=failed&status=pending", "invalid_parameter", "status"),
    ],
)
def test_a_bad_filter_is_named(query: str, code: str, param: str) -> None:
    assert refusal(client_of(make_merchant()).call("GET", f"/deliveries?{query}")) == (400, code, param)


def test_a_page_takes_few_queries_however_many_deliveries(django_assert_max_num_queries: Any) -> None:
    endpoint = make_endpoint()
    for _ in range(30):
        make_event(endpoint.merchant)
    fan_out()
    send_due()
    client = client_of(endpoint.merchant)
    client.call("GET", "/deliveries")
    with django_assert_max_num_queries(6):
        assert len(client.call("GET", "/deliveries?limit=100").json()["data"]) == 30


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("POST", "/redeliver")])
def test_somebody_else_s_delivery_looks_like_none(method: str, path: str) -> None:
    delivery = make_delivery(make_endpoint())
    before = everything()
    asked = [
        (client_of(make_merchant()), delivery.public_id),
        (client_of(delivery.merchant, PRODUCTION), delivery.public_id),
        (client_of(delivery.merchant), unknown(ids.DELIVERY)),
    ]
    answers = [answer(client.call(method, f"/deliveries/{delivery_id}{path}")) for client, delivery_id in asked]
    assert answers == [answers[0]] * len(answers)
    assert (answers[0][0], answers[0][1]["error"]["message"]) == (404, "No such delivery.")
    named_wrong = client_of(delivery.merchant).call(method, f"/deliveries/{delivery.event.public_id}{path}")
    assert named_wrong.status_code == 404
    assert "that of a delivery begins with dlv_" in named_wrong.json()["error"]["message"]
    assert everything() == before


# --- redelivery --------------------------------------------------------------------------------------


def finished(endpoint: Endpoint, status: str) -> Delivery:
    delivery = make_delivery(endpoint)
    if status == "delivered":
        send_due()
    elif status == "failed":
        while now(delivery).status == "pending":
            make_all_due()
            send_due(answering(500))
    else:
        disable_endpoint(endpoint=endpoint, reason=DisabledReason.MERCHANT)
        services.enable_endpoint(endpoint=endpoint)
    assert now(delivery).status == status
    return now(delivery)


@pytest.mark.parametrize("status", ["delivered", "failed", "discarded"])
def test_a_delivery_that_has_ended_is_sent_again_with_all_its_attempts(status: str) -> None:
    endpoint = make_endpoint()
    delivery = finished(endpoint, status)
    reply = client_of(endpoint.merchant).call("POST", f"/deliveries/{delivery.public_id}/redeliver", json_body={})
    record = reply.json()
    assert (reply.status_code, record["status"], record["deliveredAt"]) == (200, "pending", None)
    assert len(record["attempts"]) == record["attemptCount"] == delivery.attempt_count
    again = now(delivery)
    assert again.attempts_left == ATTEMPTS
    assert again.next_attempt_at is not None
    assert again.next_attempt_at <= timezone.now()
    make_all_due()
    assert send_due() == 1
    assert (now(delivery).status, now(delivery).attempt_count) == ("delivered", delivery.attempt_count + 1)


def test_one_that_waits_waits_no_longer_and_keeps_count() -> None:
    endpoint = make_endpoint()
    delivery = make_delivery(endpoint)
    send_due(answering(500))
    waiting = now(delivery)
    assert waiting.next_attempt_at is not None
    assert waiting.next_attempt_at >= Attempt.objects.get().started_at + timedelta(seconds=4)
    due = redeliver(delivery=waiting)
    assert due.next_attempt_at is not None
    assert due.next_attempt_at <= timezone.now()
    assert (due.status, due.attempts_left) == ("pending", ATTEMPTS - 1)


def test_nothing_is_sent_again_to_a_disabled_or_deleted_webhook() -> None:
    endpoint = make_endpoint()
    delivery = finished(endpoint, "delivered")
    client, path = client_of(endpoint.merchant), f"/deliveries/{delivery.public_id}/redeliver"
    disable_endpoint(endpoint=endpoint, reason=DisabledReason.GONE)
    before = everything()
    assert refusal(client.call("POST", path)) == (400, "webhook_disabled", None)
    assert everything() == before
    delete_endpoint(endpoint=endpoint)
    assert refusal(client.call("POST", path)) == (400, "webhook_deleted", None)
    assert now(delivery).status == "delivered"


# --- replay ------------------------------------------------------------------------------------------


def replay_over_api(endpoint: Endpoint, **body: Any) -> Any:
    return client_of(endpoint.merchant).call(
        "POST",
        f"/webhooks/{endpoint.public_id}/replay",
        json_body={"createdGte": LONG_AGO, "createdLte": FAR_AHEAD, **body},
    )


def test_a_replay_sends_what_was_missed_and_what_was_not() -> None:
    merchant = make_merchant()
    before_it_existed = make_event(merchant)
    fan_out()
    endpoint = make_endpoint(merchant)
    arrived = make_delivery(endpoint)
    send_due()
    disable_endpoint(endpoint=endpoint, reason=DisabledReason.MERCHANT)
    missed = make_event(merchant)
    fan_out()
    services.enable_endpoint(endpoint=endpoint)
    waiting = make_delivery(endpoint)
    not_fanned_out = make_event(merchant)
    make_event(make_merchant())
    make_event(merchant, environment=PRODUCTION)

    reply = replay_over_api(endpoint)

    assert (reply.status_code, reply.json()) == (
        200,
        {"object": "replay", "endpoint": endpoint.public_id, "deliveryCount": 5},
    )
    fan_out()
    deliveries = Delivery.objects.filter(endpoint=endpoint)
    events = [before_it_existed, arrived.event, missed, waiting.event, not_fanned_out]
    assert set(deliveries.values_list("event", flat=True)) == {event.pk for event in events}
    assert deliveries.count() == 5
    assert set(deliveries.values_list("status", "attempts_left")) == {("pending", ATTEMPTS)}
    assert not deliveries.filter(next_attempt_at__gt=timezone.now()).exists()
    assert now(arrived).pk == arrived.pk, "its attempts stay with it"


def test_a_replay_keeps_to_its_span_and_its_types() -> None:
    merchant = make_merchant()
    endpoint = make_endpoint(merchant, events=["payment.completed", "payment.expired"])
    made = {type: make_event(merchant, type) for type in ("payment.completed", "payment.expired", "payment.created")}
    fan_out()
    send_due()
    assert replay_over_api(endpoint).json()["deliveryCount"] == 2, "what it listens to"
    assert replay_over_api(endpoint, types=["payment.expired"]).json()["deliveryCount"] == 1
    assert replay_over_api(endpoint, types=["payment.created"]).json()["deliveryCount"] == 1, "asked for by name"
    assert Delivery.objects.filter(event=made["payment.created"], endpoint=endpoint).exists()
    assert replay_over_api(endpoint, createdLte=LONG_AGO).json()["deliveryCount"] == 0
    assert replay_over_api(endpoint, createdGte=FAR_AHEAD).json()["deliveryCount"] == 0


def test_a_replay_leaves_tests_and_other_payments_addresses_out() -> None:
    merchant = make_merchant()
    make_event(merchant, direct_url="https://shop.example.com/one-payment")
    make_event(merchant)
    fan_out()
    direct = Endpoint.objects.get(is_direct=True)
    send_test(endpoint=direct)
    assert replay_over_api(direct).json()["deliveryCount"] == 1
    endpoint = make_endpoint(merchant)
    assert replay_over_api(endpoint).json()["deliveryCount"] == 2


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({"createdGte": None}, "invalid_parameter", "createdGte"),
        ({"createdGte": "soon"}, "invalid_parameter", "createdGte"),
        ({"createdGte": "2026-02-01", "createdLte": "2026-01-01"}, "invalid_parameter", "createdLte"),
        ({"types": []}, "invalid_parameter", "types"),
        ({"types": ["*"]}, "invalid_parameter", "types.0"),
        ({"types": ["payment.imagined"]}, "invalid_parameter", "types.0"),
        ({"limit": 10}, "unknown_parameter", "limit"),
    ],
)
def test_a_bad_replay_is_refused(body: dict[str, Any], code: str, param: str) -> None:
    endpoint = make_endpoint()
    make_event(endpoint.merchant)
    before = everything()
    assert refusal(replay_over_api(endpoint, **body)) == (400, code, param)
    assert everything() == before


def test_a_replay_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = make_endpoint()
    for _ in range(4):
        make_event(endpoint.merchant)
    first, last = endpoint.created_at, timezone.now()
    monkeypatch.setattr(services, "REPLAY_MAX", 3)
    with pytest.raises(ReplayTooLarge):
        replay(endpoint=endpoint, created_gte=first, created_lte=last)
    assert not Delivery.objects.exists()
    monkeypatch.setattr(services, "REPLAY_MAX", 4)
    assert replay(endpoint=endpoint, created_gte=first, created_lte=last) == 4


def test_nothing_is_replayed_to_a_disabled_webhook() -> None:
    endpoint = disable_endpoint(endpoint=make_endpoint(), reason=DisabledReason.FAILING)
    make_event(endpoint.merchant)
    assert refusal(replay_over_api(endpoint)) == (400, "webhook_disabled", None)
    assert not Delivery.objects.exists()


# --- tests -------------------------------------------------------------------------------------------


def test_a_test_goes_to_one_webhook_alone_whatever_it_listens_to() -> None:
    merchant = make_merchant()
    endpoint = make_endpoint(merchant, events=["payment.late"])
    make_endpoint(merchant)
    client = client_of(merchant)
    first, second = (client.call("POST", f"/webhooks/{endpoint.public_id}/test").json() for _ in range(2))
    assert (first["status"], first["eventType"], first["endpoint"]) == ("pending", "webhook.test", endpoint.public_id)
    fan_out()
    assert Delivery.objects.count() == 2
    events = [client.call("GET", f"/events/{record['event']}").json() for record in (first, second)]
    assert [event["version"] for event in events] == [1, 2]
    assert events[0]["data"]["object"] == client.call("GET", f"/webhooks/{endpoint.public_id}").json()
    assert send_due() == 2
    assert keys_of(client.call("GET", "/deliveries?status=delivered")) == sorted(
        [first["id"], second["id"]], reverse=True
    )


def test_a_disabled_webhook_is_not_tested() -> None:
    endpoint = disable_endpoint(endpoint=make_endpoint(), reason=DisabledReason.GONE)
    reply = client_of(endpoint.merchant).call("POST", f"/webhooks/{endpoint.public_id}/test")
    assert refusal(reply) == (400, "webhook_disabled", None)
    assert not Event.objects.exists()


# --- a changed address -------------------------------------------------------------------------------


def test_what_waits_goes_to_the_new_address() -> None:
    endpoint = make_endpoint()
    delivery = make_delivery(endpoint)
    send_due(answering(500))
    assert current(endpoint).failing_since is not None
    update_endpoint(endpoint=endpoint, changes={"url": "https://shop.example.com/new"})
    assert current(endpoint).failing_since is None
    redeliver(delivery=delivery)
    called: list[str] = []

    def reply(url: str) -> Reply:
        called.append(url)
        return SUCCESS

    send_due(reply)
    assert called == ["https://shop.example.com/new"]
