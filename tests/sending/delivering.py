"""Steps that tests of delivery share: something happens, the dispatcher runs, and what it left in the database."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import F

from config import ids
from config.environments import Environment
from merchants.models import Merchant
from webhooks.events import PAYMENT_COMPLETED
from webhooks.models import Delivery, Endpoint, Event
from webhooks.recording import build_event, record_events
from webhooks.sending.dispatch import dispatch
from webhooks.sending.fan_out import fan_out
from webhooks.services import register_endpoint


def endpoint_at(url: str, merchant: Merchant, *, events: Sequence[str] = ("*",)) -> Endpoint:
    endpoint, _ = register_endpoint(merchant=merchant, environment=Environment.SANDBOX, url=url, events=events)
    return endpoint


def happen(
    merchant: Merchant,
    number: int = 1,
    *,
    type: str = PAYMENT_COMPLETED,
    environment: str = Environment.SANDBOX,
    direct_url: str = "",
    **fields: Any,
) -> list[Event]:
    """So many events, in one database transaction; `fields` are what else their records have."""
    events = [
        build_event(
            merchant_id=merchant.pk,
            environment=environment,
            type=type,
            object_id=uuid.uuid4(),
            version=1,
            payload={"id": ids.PAYMENT.encode(ids.new_uuid()), "amount": "25.00", "note": "Grüße, 東京", **fields},
            direct_url=direct_url,
        )
        for _ in range(number)
    ]
    with transaction.atomic():
        record_events(events)
    return events


def deliver(*, idle_seconds: float = 0.3, run_seconds: float = 20.0) -> int:
    """Run the dispatcher until nothing is due; answers the attempts it made."""
    return dispatch(run_seconds=run_seconds, idle_seconds=idle_seconds)


def fan_out_all() -> None:
    while fan_out():
        pass


def the_delivery() -> Delivery:
    return Delivery.objects.get()


def the_endpoint() -> Endpoint:
    return Endpoint.objects.get()


def pass_time(delta: timedelta) -> None:
    """As if so much time had gone by for everything that waits or fails."""
    Delivery.objects.filter(next_attempt_at__isnull=False).update(next_attempt_at=F("next_attempt_at") - delta)
    Endpoint.objects.filter(failing_since__isnull=False).update(failing_since=F("failing_since") - delta)
    Endpoint.objects.update(next_claim_at=F("next_claim_at") - delta)


def until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came to pass"
        time.sleep(0.01)


def in_background(work: Callable[[], int]) -> threading.Thread:
    def run() -> None:
        try:
            work()
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread
