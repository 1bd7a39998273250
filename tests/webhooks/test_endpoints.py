"""POST, GET, PATCH and DELETE /webhooks: registering, changing, disabling and deleting."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django.fixtures import Settings

from config import ids
from tests.factories import make_merchant
from tests.webhooks.scenes import (
    PRODUCTION,
    SANDBOX,
    URL,
    answer,
    client_of,
    current,
    everything,
    keys_of,
    make_delivery,
    make_endpoint,
    make_event,
    now,
    refusal,
    unknown,
)
from webhooks.models import Delivery, Endpoint
from webhooks.sending.fan_out import fan_out
from webhooks.services import ENDPOINTS_MAX, delete_endpoint, disable_endpoint
from webhooks.states import DisabledReason

pytestmark = pytest.mark.django_db


# --- create ------------------------------------------------------------------------------------------


def test_a_webhook_is_created_and_shows_its_secret_once() -> None:
    merchant = make_merchant()
    client = client_of(merchant)
    reply = client.call("POST", "/webhooks", json_body={"url": URL})
    assert reply.status_code == 201
    record = reply.json()
    endpoint = Endpoint.objects.get()
    secret = record.pop("secret")
    assert secret.startswith("whsec_")
    assert record == {
        "id": endpoint.public_id,
        "object": "webhook",
        "url": URL,
        "events": ["*"],
        "status": "enabled",
        "disabledReason": None,
        "disabledAt": None,
        "description": "",
        "isPaymentAddress": False,
        "previousSecretExpiresAt": None,
        "environment": "sandbox",
        "createdAt": endpoint.created_at.strftime("%Y-%m-%dT%H:%M:%S.")
        + f"{endpoint.created_at.microsecond // 1000:03}Z",
    }
    assert client.call("GET", f"/webhooks/{record['id']}").json() == record
    assert client.call("GET", "/webhooks").json()["data"] == [record]
    assert client.call("PATCH", f"/webhooks/{record['id']}", json_body={}).json() == record


def test_events_are_kept_once_each_in_the_order_of_the_catalogue() -> None:
    reply = client_of(make_merchant()).call(
        "POST",
        "/webhooks",
        json_body={
            "url": URL,
            "events": ["payment.expired", "payment.created", "payment.expired"],
            "description": "Warehouse",
        },
    )
    assert (reply.status_code, reply.json()["events"], reply.json()["description"]) == (
        201,
        ["payment.created", "payment.expired"],
        "Warehouse",
    )


def test_everything_beside_a_name_is_everything() -> None:
    reply = client_of(make_merchant()).call(
        "POST", "/webhooks", json_body={"url": URL, "events": ["payment.late", "*"]}
    )
    assert reply.json()["events"] == ["*"]


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({}, "missing_parameter", "url"),
        ({"url": 1}, "invalid_parameter", "url"),
        ({"url": ""}, "invalid_parameter", "url"),
        ({"url": "ftp://shop.example.com"}, "invalid_parameter", "url"),
        ({"url": "https://user:password@shop.example.com"}, "invalid_parameter", "url"),
        ({"url": "https://shop.example.com/" + "a" * 2000}, "invalid_parameter", "url"),
        ({"url": URL, "events": []}, "invalid_parameter", "events"),
        ({"url": URL, "events": "*"}, "invalid_parameter", "events"),
        ({"url": URL, "events": ["payment.imagined"]}, "invalid_parameter", "events.0"),
        ({"url": URL, "events": [None]}, "invalid_parameter", "events.0"),
        ({"url": URL, "description": "x" * 201}, "invalid_parameter", "description"),
        ({"url": URL, "description": "two\nlines"}, "invalid_parameter", "description"),
        ({"url": URL, "status": "disabled"}, "unknown_parameter", "status"),
        ({"url": URL, "secret": "whsec_mine"}, "unknown_parameter", "secret"),
    ],
)
def test_what_is_wrong_is_named(body: dict[str, Any], code: str, param: str) -> None:
    reply = client_of(make_merchant()).call("POST", "/webhooks", json_body=body)
    assert refusal(reply) == (400, code, param)
    assert not Endpoint.objects.exists()


def test_production_wants_https() -> None:
    merchant = make_merchant()
    body = {"url": "http://shop.example.com/"}
    assert refusal(client_of(merchant, PRODUCTION).call("POST", "/webhooks", json_body=body)) == (
        400,
        "invalid_parameter",
        "url",
    )
    assert client_of(merchant, SANDBOX).call("POST", "/webhooks", json_body=body).status_code == 201


def test_this_very_machine_can_be_called_from_a_sandbox_that_allows_it(settings: Settings) -> None:
    merchant = make_merchant()
    body = {"url": "http://127.0.0.1:8080/webhooks"}
    settings.WEBHOOK_ALLOW_LOOPBACK = True
    assert client_of(merchant).call("POST", "/webhooks", json_body=body).status_code == 201
    settings.WEBHOOK_ALLOW_LOOPBACK = False
    assert refusal(client_of(merchant).call("POST", "/webhooks", json_body=body)) == (400, "invalid_parameter", "url")


def test_a_merchant_has_fifty_webhooks_in_each_environment() -> None:
    merchant = make_merchant()
    endpoints = [make_endpoint(merchant) for _ in range(ENDPOINTS_MAX)]
    client = client_of(merchant)
    before = everything()
    assert refusal(client.call("POST", "/webhooks", json_body={"url": URL})) == (400, "too_many_webhooks", None)
    assert everything() == before
    assert client_of(merchant, PRODUCTION).call("POST", "/webhooks", json_body={"url": URL}).status_code == 201
    assert client_of(make_merchant()).call("POST", "/webhooks", json_body={"url": URL}).status_code == 201
    delete_endpoint(endpoint=endpoints[0])
    assert client.call("POST", "/webhooks", json_body={"url": URL}).status_code == 201


def test_a_webhook_asked_for_twice_is_created_once_and_answered_with_the_same_secret() -> None:
    merchant = make_merchant()
    client = client_of(merchant)
    headers = {"Idempotency-Key": "create the webhook"}
    replies = [client.call("POST", "/webhooks", json_body={"url": URL}, headers=headers) for _ in range(2)]
    assert [reply.status_code for reply in replies] == [201, 201]
    assert replies[0].content == replies[1].content
    assert replies[1].headers["Idempotent-Replayed"] == "true"
    assert Endpoint.objects.count() == 1


# --- list and get ------------------------------------------------------------------------------------


def test_the_list_is_newest_first_and_holds_neither_deleted_nor_direct_ones() -> None:
    merchant = make_merchant()
    first, second, third = (make_endpoint(merchant) for _ in range(3))
    delete_endpoint(endpoint=second)
    make_event(merchant, direct_url="https://shop.example.com/one-payment")
    fan_out()
    make_endpoint(merchant, PRODUCTION)
    make_endpoint()
    newest_first = sorted([first.public_id, third.public_id], reverse=True)
    client = client_of(merchant)
    reply = client.call("GET", "/webhooks")
    assert (keys_of(reply), reply.json()["totalCount"], reply.json()["hasMore"]) == (newest_first, 2, False)
    page = client.call("GET", "/webhooks?limit=1")
    assert (keys_of(page), page.json()["totalCount"], page.json()["hasMore"]) == (newest_first[:1], 2, True)
    rest = client.call("GET", f"/webhooks?limit=1&starting_after={newest_first[0]}")
    assert (keys_of(rest), rest.json()["hasMore"]) == (newest_first[1:], False)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "", None),
        ("PATCH", "", {"description": "mine now"}),
        ("DELETE", "", None),
        ("POST", "/test", {}),
        ("POST", "/rotate", {}),
        ("POST", "/replay", {"createdGte": "2026-01-01", "createdLte": "2027-01-01"}),
    ],
)
def test_somebody_else_s_webhook_looks_like_none(method: str, path: str, body: Any) -> None:
    endpoint = make_endpoint()
    deleted = make_endpoint(endpoint.merchant)
    delete_endpoint(endpoint=deleted)
    before = everything()
    stranger, elsewhere = client_of(make_merchant()), client_of(endpoint.merchant, PRODUCTION)
    own = client_of(endpoint.merchant)
    asked = [(stranger, endpoint.public_id), (elsewhere, endpoint.public_id), (own, deleted.public_id)]
    asked.append((own, unknown(ids.WEBHOOK)))
    answers = [
        answer(client.call(method, f"/webhooks/{webhook_id}{path}", json_body=body)) for client, webhook_id in asked
    ]
    assert answers == [answers[0]] * len(answers)
    assert answers[0][0] == 404
    assert answers[0][1]["error"]["message"] == "No such webhook."
    assert everything() == before


# --- change ------------------------------------------------------------------------------------------


def test_a_change_leaves_out_what_it_does_not_name() -> None:
    endpoint = make_endpoint(events=["payment.created"], description="Old")
    reply = client_of(endpoint.merchant).call(
        "PATCH", f"/webhooks/{endpoint.public_id}", json_body={"url": "https://shop.example.com/new"}
    )
    record = reply.json()
    assert (reply.status_code, record["url"], record["events"], record["description"]) == (
        200,
        "https://shop.example.com/new",
        ["payment.created"],
        "Old",
    )
    assert "secret" not in record
    assert current(endpoint).secret_encrypted == endpoint.secret_encrypted


def test_what_happened_just_before_a_change_of_events_is_not_lost() -> None:
    endpoint = make_endpoint(events=["payment.created"])
    event = make_event(endpoint.merchant, "payment.created")
    client_of(endpoint.merchant).call(
        "PATCH", f"/webhooks/{endpoint.public_id}", json_body={"events": ["payment.completed", "payment.created"]}
    )
    assert current(endpoint).events == ["payment.created", "payment.completed"]
    assert current(endpoint).events_changed_at is not None
    fan_out()
    assert Delivery.objects.get().event == event


@pytest.mark.parametrize(
    "body",
    [
        {"url": "http://10.0.0.1/"},
        {"events": []},
        {"events": ["nothing"]},
        {"status": "paused"},
        {"secret": "whsec_"},
        {"id": "whk_"},
    ],
)
def test_a_bad_change_changes_nothing(body: dict[str, Any]) -> None:
    endpoint = make_endpoint()
    before = everything()
    reply = client_of(endpoint.merchant).call(
        "PATCH", f"/webhooks/{endpoint.public_id}", json_body={"description": "changed", **body}
    )
    assert reply.status_code == 400
    assert everything() == before


def test_disabling_discards_what_waits_and_enabling_begins_anew() -> None:
    endpoint = make_endpoint()
    client = client_of(endpoint.merchant)
    delivery = make_delivery(endpoint)
    record = client.call("PATCH", f"/webhooks/{endpoint.public_id}", json_body={"status": "disabled"}).json()
    assert (record["status"], record["disabledReason"]) == ("disabled", "merchant")
    assert record["disabledAt"] is not None
    assert (now(delivery).status, now(delivery).next_attempt_at) == ("discarded", None)
    assert not current(endpoint).is_mail_due, "whoever did it knows"
    make_event(endpoint.merchant)
    fan_out()
    assert Delivery.objects.count() == 1
    record = client.call("PATCH", f"/webhooks/{endpoint.public_id}", json_body={"status": "enabled"}).json()
    assert (record["status"], record["disabledReason"], record["disabledAt"]) == ("enabled", None, None)
    assert current(endpoint).subscribed_at > endpoint.subscribed_at
    assert now(make_delivery(endpoint)).status == "pending"


def test_disabling_and_enabling_again_change_nothing() -> None:
    endpoint = make_endpoint()
    client = client_of(endpoint.merchant)
    for status in ("enabled", "disabled", "disabled", "enabled", "enabled"):
        first = client.call("PATCH", f"/webhooks/{endpoint.public_id}", json_body={"status": status}).json()
        before = everything()
        assert client.call("PATCH", f"/webhooks/{endpoint.public_id}", json_body={"status": status}).json() == first
        assert everything() == before


def test_the_first_reason_stays() -> None:
    endpoint = disable_endpoint(endpoint=make_endpoint(), reason=DisabledReason.GONE)
    assert disable_endpoint(endpoint=endpoint, reason=DisabledReason.FAILING).disabled_reason == "gone"


# --- delete ------------------------------------------------------------------------------------------


def test_a_deleted_webhook_gets_nothing_more_and_its_deliveries_stay() -> None:
    endpoint = make_endpoint()
    delivery = make_delivery(endpoint)
    client = client_of(endpoint.merchant)
    reply = client.call("DELETE", f"/webhooks/{endpoint.public_id}")
    assert (reply.status_code, reply.json()) == (
        200,
        {"id": endpoint.public_id, "object": "webhook", "deleted": True},
    )
    assert client.call("DELETE", f"/webhooks/{endpoint.public_id}").status_code == 404
    assert (now(delivery).status, current(endpoint).status) == ("discarded", "disabled")
    make_event(endpoint.merchant)
    fan_out()
    assert Delivery.objects.count() == 1
    assert keys_of(client.call("GET", f"/deliveries?endpoint={endpoint.public_id}")) == [delivery.public_id]
    disable_endpoint(endpoint=endpoint, reason=DisabledReason.GONE)
    assert current(endpoint).disabled_reason == "merchant", "a late answer of a deleted one means nothing"


# --- the webhookUrl of payments ----------------------------------------------------------------------


def test_a_payment_s_own_address_can_be_enabled_again_but_not_edited() -> None:
    merchant = make_merchant()
    make_event(merchant, direct_url="https://shop.example.com/one-payment")
    fan_out()
    direct = disable_endpoint(endpoint=Endpoint.objects.get(), reason=DisabledReason.GONE)
    client = client_of(merchant)
    path = f"/webhooks/{direct.public_id}"
    shown = client.call("GET", path).json()
    assert (shown["isPaymentAddress"], shown["status"]) == (True, "disabled")
    before = everything()
    for method, where, body in [
        ("PATCH", path, {"url": URL}),
        ("PATCH", path, {"status": "enabled", "events": ["payment.created"]}),
        ("DELETE", path, None),
        ("POST", f"{path}/rotate", {}),
    ]:
        assert refusal(client.call(method, where, json_body=body)) == (400, "webhook_of_payments", None)
    assert everything() == before
    assert client.call("PATCH", path, json_body={"status": "enabled"}).json()["status"] == "enabled"
