"""Webhooks in every state, and deliveries with a past: reached by the services and the dispatcher's own steps."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone

from config import ids
from config.environments import Environment
from merchants.models import Merchant
from tests.webhooks.scenes import make_all_due, send_due
from webhooks.events.catalogue import PAYMENT_COMPLETED, PAYMENT_OVERPAID, PAYMENT_REFUNDED
from webhooks.models import Attempt, Delivery, Endpoint, Event
from webhooks.schedule import Reply
from webhooks.sending.fan_out import fan_out
from webhooks.services import disable_endpoint, register_endpoint, rotate_secret, send_test
from webhooks.states import DeliveryStatus, DisabledReason

SHOP = "https://harbourcoffee.example/ballast/events"
WAREHOUSE = "https://warehouse.harbourcoffee.example/integrations/payments/incoming?tenant=harbour-coffee&version=3"
OLD_TILL = "https://till-2.harbourcoffee.example/hook"
BOOKS = "https://books.harbourcoffee.example/webhooks"
BROKEN = """<!DOCTYPE html>
<html><head><title>502 Bad Gateway</title></head>
<body>
<center><h1>502 Bad Gateway</h1></center>
<hr><center>nginx/1.24.0</center>
</body></html>
"""
ANSWERS = {
    SHOP: Reply(status_code=200, body=b'{"received": true}'),
    WAREHOUSE: Reply(status_code=502, body=BROKEN.encode()),
    OLD_TILL: Reply(status_code=410, body=b"this till is closed"),
    BOOKS: Reply(status_code=204),
}


@dataclass(frozen=True)
class WebhookScenes:
    """By the name of their state."""

    endpoints: dict[str, Endpoint]
    deliveries: dict[str, Delivery]


def add_webhooks(merchant: Merchant) -> dict[str, Endpoint]:
    """Before anything happens, so that they are told of it."""

    def add(url: str, description: str, *events: str) -> Endpoint:
        endpoint, _ = register_endpoint(
            merchant=merchant, environment=Environment.SANDBOX, url=url, description=description, events=events or ["*"]
        )
        return endpoint

    endpoints = {
        "disabled": add(BOOKS, "Bookkeeping", PAYMENT_COMPLETED),
        "gone": add(OLD_TILL, ""),
        "failing": add(
            WAREHOUSE, "Warehouse, sends the parcels", PAYMENT_COMPLETED, PAYMENT_OVERPAID, PAYMENT_REFUNDED
        ),
        "enabled": add(SHOP, "Order system"),
    }
    disable_endpoint(endpoint=endpoints["disabled"], reason=DisabledReason.MERCHANT)
    return endpoints


def deliver_everything(endpoints: dict[str, Endpoint]) -> WebhookScenes:
    """After it has happened: two rounds of the dispatcher, with a shop that was down for two hours today."""
    while fan_out():
        pass
    for _ in range(3):
        while send_due(lambda url: ANSWERS[url]):
            pass
        make_all_due()
    _remember_the_day(endpoints["enabled"], outage=range(9, 11))
    rotate_secret(endpoint=endpoints["enabled"])
    waiting = send_test(endpoint=endpoints["enabled"])
    deliveries = {
        "waiting": waiting,
        "delivered": _newest(endpoints["enabled"], status=DeliveryStatus.DELIVERED),
        "retrying": _newest(endpoints["failing"], attempt_count__gt=1),
        "discarded": _newest(endpoints["gone"]),
    }
    return WebhookScenes(endpoints, deliveries)


def _newest(endpoint: Endpoint, **fields: object) -> Delivery:
    return Delivery.objects.filter(endpoint=endpoint, **fields).latest("pk")


def _remember_the_day(endpoint: Endpoint, *, outage: range) -> None:
    """Deliveries of the last day: most arrived, those of some hours did not."""
    chance, now = random.Random(4711), timezone.now()
    events, deliveries, attempts = [], [], []
    for hour in range(2, 23):
        for _ in range(chance.randrange(1, 9)):
            at = now - timedelta(hours=hour, minutes=chance.randrange(60))
            milliseconds = int(at.timestamp() * 1000)
            failed = hour in outage and chance.random() < 0.7
            event = Event(
                id=ids.new_uuid(milliseconds),
                merchant=endpoint.merchant,
                environment=endpoint.environment,
                type=PAYMENT_COMPLETED,
                object_id=ids.new_uuid(milliseconds),
                version=4,
                payload={"object": "payment"},
                is_fanned_out=True,
            )
            delivery = Delivery(
                id=ids.new_uuid(milliseconds),
                merchant=endpoint.merchant,
                environment=endpoint.environment,
                event=event,
                endpoint=endpoint,
                status=DeliveryStatus.FAILED if failed else DeliveryStatus.DELIVERED,
                attempt_count=1,
                next_attempt_at=None,
                delivered_at=None if failed else at,
            )
            attempt = Attempt(
                delivery=delivery,
                number=1,
                started_at=at,
                duration_milliseconds=chance.randrange(40, 400),
                status_code=None if failed else 200,
                error="No reply within 15 seconds." if failed else "",
            )
            events.append(event)
            deliveries.append(delivery)
            attempts.append(attempt)
    Event.objects.bulk_create(events)
    Delivery.objects.bulk_create(deliveries)
    Attempt.objects.bulk_create(attempts)
