"""Steps that tests of delivery share: something happens, the dispatcher runs, and what it left in the database."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import F

from config import ids
from config.environments import Environment
from merchants.models import Merchant
from webhooks.events.catalogue import PAYMENT_COMPLETED
from webhooks.events.recording import build_event, record_events
from webhooks.models import Delivery, Endpoint, Event
from webhooks.sending import dispatch as dispatching
from webhooks.sending.dispatch import dispatch
from webhooks.sending.fan_out import fan_out
from webhooks.services import register_endpoint
from webhooks.states import DeliveryStatus


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


def deliver(*, idle_seconds: float = 0.1, run_seconds: float = 60.0) -> int:
    """Run the dispatcher until nothing is due; returns the attempts it made."""
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


def is_all_delivered() -> bool:
    return not Delivery.objects.exclude(status=DeliveryStatus.DELIVERED).exists()


@contextmanager
def beside(
    work: Callable[..., int] = dispatch,
    *,
    run_seconds: float = 600,
    idle_seconds: float = 600,
    stops_when: Callable[[], bool] = lambda: False,
) -> Iterator[Future[int]]:
    """A dispatcher works beside the block, and ends with it, however it ends: left alone it would serve the next test.

    Yields what `work` will return. It is told to stop at the end of the block, or once `stops_when` is true.
    """
    is_left = threading.Event()

    def run() -> int:
        try:
            return work(
                run_seconds=run_seconds, idle_seconds=idle_seconds, is_stopping=lambda: is_left.is_set() or stops_when()
            )
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(run)
        try:
            yield working
        finally:
            is_left.set()
            if dispatching._current is not None:
                dispatching._current.nudge()
        working.result()
