"""Endpoints, events and deliveries for tests, made by the services that make real ones."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from config import ids
from config.environments import Environment
from merchants.models import Merchant
from tests.factories import ApiClient, api_client, make_key, make_merchant
from webhooks.events.recording import build_event, record_events
from webhooks.models import Delivery, Endpoint, Event
from webhooks.schedule import Reply
from webhooks.sending.attempts import Sent, record
from webhooks.sending.due_deliveries import take_due
from webhooks.sending.fan_out import fan_out
from webhooks.sending.preparing import Preparation
from webhooks.services import register_endpoint
from webhooks.states import DeliveryStatus

SANDBOX, PRODUCTION = Environment
URL = "https://shop.example.com/webhooks"
SUCCESS = Reply(status_code=200, body=b"thank you")
DISPATCHER = 7


def client_of(merchant: Merchant, environment: Environment = SANDBOX, **options: Any) -> ApiClient:
    return api_client(make_key(merchant, environment, **options))


def make_endpoint(merchant: Merchant | None = None, environment: str = SANDBOX, **fields: Any) -> Endpoint:
    endpoint, _ = register_endpoint(
        merchant=merchant or make_merchant(), environment=environment, **{"url": URL, **fields}
    )
    return endpoint


def make_event(merchant: Merchant, type: str = "payment.completed", environment: str = SANDBOX, **fields: Any) -> Event:
    """An event of a record that nobody else knows."""
    event = build_event(
        merchant_id=merchant.pk,
        environment=environment,
        type=type,
        **{"object_id": ids.new_uuid(), "version": 1, "payload": {"object": "payment"}, **fields},
    )
    with transaction.atomic():
        record_events([event])
    return event


def make_delivery(endpoint: Endpoint, type: str = "payment.completed") -> Delivery:
    """Of a new event, by the way every delivery is made."""
    event = make_event(endpoint.merchant, type, endpoint.environment)
    fan_out()
    return Delivery.objects.get(event=event, endpoint=endpoint)


def send_due(answer: Callable[[str], Reply] = lambda url: SUCCESS) -> int:
    """One round of the dispatcher, the network left out: whoever is called answers at once."""
    now = timezone.now()
    due = take_due(DISPATCHER, limit=1000, probes=1000, now=now)
    sent = [
        Sent(ids.new_uuid(), each.due, DISPATCHER, now, timedelta(milliseconds=120), answer(each.target.url))
        for each in Preparation().prepare(due, now=now)
    ]
    if sent:
        record(sent, chance=random.Random(1))
    return len(sent)


def make_all_due() -> None:
    """Let the waits between attempts, and the pauses of endpoints that fail, be over."""
    Delivery.objects.filter(status=DeliveryStatus.PENDING).update(next_attempt_at=timezone.now())
    Endpoint.objects.update(next_claim_at=timezone.now())


def answering(status_code: int, body: bytes = b"") -> Callable[[str], Reply]:
    return lambda url: Reply(status_code=status_code, body=body)


def now(delivery: Delivery) -> Delivery:
    return Delivery.objects.get(pk=delivery.pk)


def current(endpoint: Endpoint) -> Endpoint:
    return Endpoint.objects.get(pk=endpoint.pk)


def refusal(reply: Any) -> tuple[int, str, str | None]:
    """Status, code and parameter of an error."""
    error = reply.json()["error"]
    return reply.status_code, error["code"], error.get("param")


def answer(reply: Any) -> tuple[int, Any]:
    """All of a refusal that may differ between somebody else's record and none at all."""
    body = json.loads(reply.content)
    body["error"].pop("requestId")
    return reply.status_code, body


def unknown(kind: ids.PublicId) -> str:
    return kind.encode(ids.new_uuid())


def everything() -> tuple[list[Any], ...]:
    """All rows that a refusal must leave as they are."""
    return tuple(list(model.objects.order_by("pk").values()) for model in (Endpoint, Event, Delivery))


def keys_of(records: Any) -> list[str]:
    return [record["id"] for record in records.json()["data"]]
