"""The bench: what it shows is what is sent, samples never count as events, and a signature is explained."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from config.environments import Environment
from merchants.models import Member
from tests.dashboard.conftest import browser_of
from tests.factories import make_member, make_merchant
from tests.webhooks.scenes import PRODUCTION, answering, client_of, make_endpoint, send_due
from webhooks.endpoints.listener import problem_of
from webhooks.endpoints.secrets import live_secrets
from webhooks.events.catalogue import CATALOGUE, WEBHOOK_TEST
from webhooks.models import Delivery, Endpoint, Event
from webhooks.sending.preparing import Preparation
from webhooks.services import SampleOfProduction, replay, send_test
from webhooks.states import DeliveryStatus

BENCH = "/dashboard/webhooks/bench"


@pytest.fixture
def endpoint(member: Member) -> Endpoint:
    return make_endpoint(member.merchant)


def secret_of(endpoint: Endpoint) -> str:
    return live_secrets(endpoint, timezone.now())[0]


def shown(page: str) -> tuple[dict[str, str], bytes]:
    """The headers and the body that the page shows."""
    headers = {
        name: unescape(value).strip()
        for name, value in re.findall(r"<dt>([\w-]+)</dt>\s*<dd>(.*?)</dd>", page, re.DOTALL)
    }
    found = re.search(r'aria-label="Body as sent"><code>(.*?)</code>', page, re.DOTALL)
    assert found
    return headers, unescape(found[1]).encode()


def test_every_event_is_shown_as_it_is_signed(client: Client, endpoint: Endpoint) -> None:
    for type in CATALOGUE:
        headers, body = shown(client.get(BENCH, {"endpoint": endpoint.public_id, "type": type}).text)
        assert problem_of(headers, body, secret=secret_of(endpoint), now=timezone.now().timestamp()) is None, type
        event = json.loads(body)
        assert (event["type"], event["id"], event["environment"]) == (type, headers["webhook-id"], "sandbox")
        assert headers["Content-Length"] == str(len(body))


def test_a_sample_is_sent_once_and_is_no_event(client: Client, endpoint: Endpoint) -> None:
    reply = client.post(f"{BENCH}/send", {"endpoint": endpoint.public_id, "type": "payment.completed"})
    delivery = Delivery.objects.get()
    assert reply.headers["Location"] == f"/dashboard/deliveries/{delivery.public_id}"
    event = Event.objects.get()
    assert (event.type, event.sample_of, event.is_fanned_out) == (WEBHOOK_TEST, "payment.completed", True)
    assert delivery.endpoint == endpoint

    api = client_of(endpoint.merchant)
    assert api.get("/sandbox/v1/events").json()["data"] == []
    now = timezone.now()
    assert replay(endpoint=endpoint, created_gte=now.replace(year=now.year - 1), created_lte=now) == 0
    body = api.get(f"/sandbox/v1/events/{event.public_id}").json()
    assert body["type"] == "payment.completed"
    assert api.get(f"/sandbox/v1/payments/{body['data']['object']['id']}").status_code == 404

    send_due(answering(500, b"not yet"))
    delivery.refresh_from_db()
    assert delivery.status == DeliveryStatus.FAILED
    page = client.get(reply.headers["Location"]).text
    assert "500 Internal Server Error" in page
    assert "not yet" in page
    assert "payment.completed" in page


def test_in_production_nothing_but_a_test_is_signed(client: Client, member: Member) -> None:
    endpoint = make_endpoint(member.merchant, PRODUCTION)
    client.post("/dashboard/environment", {"environment": Environment.PRODUCTION})
    page = client.get(BENCH, {"endpoint": endpoint.public_id, "type": "payment.completed"}).text
    assert json.loads(shown(page)[1])["type"] == WEBHOOK_TEST
    client.post(f"{BENCH}/send", {"endpoint": endpoint.public_id, "type": "payment.completed"})
    assert not Event.objects.exists()
    with pytest.raises(SampleOfProduction):
        send_test(endpoint=endpoint, sample_of="payment.completed")
    client.post(f"{BENCH}/send", {"endpoint": endpoint.public_id, "type": WEBHOOK_TEST})
    assert Event.objects.get().sample_of == ""


def test_only_an_own_webhook_gets_a_sample(client: Client) -> None:
    stranger = make_endpoint(make_merchant("Somebody Else"))
    for chosen in (stranger.public_id, "https://10.0.0.8/", ""):
        client.post(f"{BENCH}/send", {"endpoint": chosen, "type": WEBHOOK_TEST})
    assert not Event.objects.exists()


def test_a_pasted_request_is_compared_with_what_was_sent(client: Client, endpoint: Endpoint) -> None:
    make_endpoint(endpoint.merchant, url="https://other.example/")
    headers, body = shown(client.get(BENCH, {"endpoint": endpoint.public_id, "type": "refund.failed"}).text)

    def said(**changed: Any) -> str:
        fields = {name.removeprefix("webhook-"): headers[name] for name in headers if name.startswith("webhook-")}
        form = {
            "endpoint": endpoint.public_id,
            "message_id": fields.pop("id"),
            "body": body.decode(),
            **fields,
            **changed,
        }
        reply = client.post(f"{BENCH}/check", form)
        assert reply.status_code == 200
        return " ".join(re.sub(r"<[^>]+>", " ", unescape(reply.text)).split())

    assert "It verifies" in said()
    assert "It does not verify" in said(body=body.decode().replace("refund", "rufend"))
    other = Endpoint.objects.exclude(pk=endpoint.pk).get()
    assert "the secret of another webhook" in said(endpoint=other.public_id)
    assert "This field is required" in said(signature="")
    assert not Event.objects.exists()


def test_who_may_not_send_events_sees_no_signature(endpoint: Endpoint) -> None:
    support = browser_of(make_member(endpoint.merchant, role="support"))
    assert support.get(BENCH).status_code == 403
    assert BENCH not in support.get("/dashboard/developers").text


def test_a_sample_is_prepared_as_the_event_it_is_of(client: Client, endpoint: Endpoint) -> None:
    client.post(f"{BENCH}/send", {"endpoint": endpoint.public_id, "type": "payment.late"})
    event = Event.objects.get()
    message = Preparation()._messages_of({event.pk})[event.pk]
    assert json.loads(message.body)["type"] == "payment.late"
    assert json.loads(message.body)["data"]["object"]["qrCode"].startswith("data:image/png;base64,")
