"""Recording what happened, in the same database transaction as the change itself."""

from __future__ import annotations

import uuid
from typing import Any

from django.db import connection

from webhooks.models import Event


def build_event(
    *, merchant_id: uuid.UUID, environment: str, type: str, object_id: uuid.UUID, version: int, payload: dict[str, Any]
) -> Event:
    """An event not yet stored, for a service that inserts it together with the record it is about."""
    return Event(
        merchant_id=merchant_id,
        environment=environment,
        type=type,
        object_id=object_id,
        version=version,
        payload=payload,
    )


def record_event(
    *, merchant_id: uuid.UUID, environment: str, type: str, object_id: uuid.UUID, version: int, payload: dict[str, Any]
) -> Event:
    """Store one event beside the change of state it tells of. Only inside that change's database transaction."""
    if not connection.in_atomic_block:
        raise RuntimeError(f"{type} must be recorded in the database transaction of the change it tells of")
    event = build_event(
        merchant_id=merchant_id,
        environment=environment,
        type=type,
        object_id=object_id,
        version=version,
        payload=payload,
    )
    event.save(force_insert=True)
    return event
