"""Records events, in the same database transaction as the change itself."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django.db import connection

from config.celery import wake
from webhooks.events.rebuilding import FIELD
from webhooks.models import Event

WAKE_EVERY_SECONDS = 1.0
"""A dispatcher keeps looking for longer than this after a wake, so more wakes would change nothing."""

_woken_at = float("-inf")


def build_event(
    *,
    merchant_id: uuid.UUID,
    environment: str,
    type: str,
    object_id: uuid.UUID,
    version: int,
    payload: dict[str, Any],
    direct_url: str = "",
) -> Event:
    """An event not yet stored, for a service that inserts it together with the record it is about.

    `payload` is the whole record as the API shows it, `direct_url` a webhook address of the record's own. The service
    that inserts it then calls `wake_dispatcher`.
    """
    return Event(
        merchant_id=merchant_id,
        environment=environment,
        type=type,
        object_id=object_id,
        version=version,
        payload=_to_store(payload),
        direct_url=direct_url,
    )


def _to_store(payload: dict[str, Any]) -> dict[str, Any]:
    """The record as an event stores it: of a payment, without its QR code.

    The code is half of what an event would take up, and the payment keeps it: `rebuilding` puts it back. A code over
    what is left of the price is not kept by the payment, and neither is the one before its payer chose another coin or
    network: such events store the code themselves, as older events do.
    """
    if payload.get("object") != "payment" or FIELD not in payload:
        return payload
    is_over_a_part = 0 < Decimal(payload.get("amountDue", 0)) < Decimal(payload["cryptoAmount"])
    return payload if is_over_a_part or payload.get("choices") else {**payload, FIELD: None}


def record_events(events: Sequence[Event]) -> None:
    """Store events in this order, only inside the database transaction of the change they are about."""
    if not connection.in_atomic_block:
        raise RuntimeError("events are recorded in the database transaction of the change they tell of")
    # Keys made within one millisecond sort at random, and events are read in the order of their keys.
    for event, key in zip(events, sorted(event.id for event in events), strict=True):
        event.id = key
    Event.objects.bulk_create(events)
    wake_dispatcher()


def wake_dispatcher() -> None:
    """Wake the dispatcher as soon as the current database transaction has committed.

    Once a second from each process is enough, and keeps the broker out of most requests. When a wake is left out or
    lost, the next periodic task sends what is due.
    """
    global _woken_at
    now = time.monotonic()
    if now - _woken_at >= WAKE_EVERY_SECONDS:
        _woken_at = now
        wake("webhooks.deliver_due")
