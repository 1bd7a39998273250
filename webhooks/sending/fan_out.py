"""Makes deliveries from events: one for each endpoint that listens. Not done by the request that records an event."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import orjson
from django.db import transaction
from django.utils import timezone

from config import ids
from config.periodic.containment import contained
from webhooks.events.catalogue import EVERYTHING
from webhooks.models import Endpoint
from webhooks.schedule import ATTEMPTS
from webhooks.sending.statements import pipeline

BATCH = 100
"""Events of one database transaction: few, so that recording attempts does not wait long for it."""

DELIVERIES_MAX = 1000
"""Deliveries of one database transaction, for the same reason."""

Account = tuple[uuid.UUID, str]
"""A merchant's id and an environment."""

_ARE_WAITING = "SELECT 1 FROM webhooks_event WHERE NOT is_fanned_out LIMIT 1"

_TAKE = """
    SELECT id, merchant_id, environment, type, direct_url FROM webhooks_event
    WHERE NOT is_fanned_out ORDER BY id LIMIT %(limit)s FOR NO KEY UPDATE SKIP LOCKED
"""

# Locked, so that none is disabled while it is given a delivery, which would then wait for ever.
_LISTENERS = """
    SELECT id, merchant_id, environment, url, is_direct, events, subscribed_at FROM webhooks_endpoint
    WHERE merchant_id = ANY(%(merchants)s) AND status = 'enabled' AND deleted_at IS NULL
        AND (NOT is_direct OR url = ANY(%(urls)s))
    ORDER BY id FOR SHARE
"""

_INSERT = """
    INSERT INTO webhooks_delivery (
        id, merchant_id, environment, event_id, endpoint_id, status, attempt_count, attempts_left, next_attempt_at
    )
    SELECT new.id, endpoint.merchant_id, endpoint.environment, new.event_id, new.endpoint_id,
        'pending', 0, %(attempts)s, %(now)s
    FROM json_to_recordset(%(new)s) AS new (id uuid, event_id uuid, endpoint_id uuid)
    JOIN webhooks_endpoint AS endpoint ON endpoint.id = new.endpoint_id
    ON CONFLICT (event_id, endpoint_id) DO NOTHING
"""

# As the row is written anyway, its record gets spaces after it: PostgreSQL compresses no row of 2,032 bytes or less.
_DONE = """
    UPDATE webhooks_event SET is_fanned_out = true, payload = CASE WHEN octet_length(payload) < 2048
        THEN payload || repeat(' ', 2048 - octet_length(payload)) ELSE payload END
    WHERE id = ANY(%(events)s)
"""


class _Happened(NamedTuple):
    """The fields of an event that decide which endpoints it is sent to."""

    id: uuid.UUID
    merchant_id: uuid.UUID
    environment: str
    type: str
    direct_url: str

    @property
    def account(self) -> Account:
        return self.merchant_id, self.environment


class _Listener(NamedTuple):
    """The fields of an endpoint that decide which events it is sent."""

    id: uuid.UUID
    merchant_id: uuid.UUID
    environment: str
    url: str
    is_direct: bool
    events: list[str]
    subscribed_at: datetime


def fan_out(*, limit: int = BATCH) -> int:
    """Make the deliveries of the oldest events that have none yet; returns how many events. Any number may run at once.

    An event goes only to endpoints that were listening when it happened.
    """
    with pipeline() as send:
        found = send(_ARE_WAITING, {})
    if found.fetchone() is None:
        return 0  # nearly always, and without a database transaction
    with transaction.atomic():
        with pipeline() as send:
            taken = send(_TAKE, {"limit": limit})
        if not (events := [_Happened(*row) for row in taken]):
            return 0
        _make_direct_endpoints(events)
        listening, direct = _listeners_of(events)
        pairs: list[tuple[uuid.UUID, uuid.UUID]] = []
        done = []
        for event in events:
            if len(pairs) >= DELIVERIES_MAX:
                break
            with contained("webhook_event_not_fanned_out", webhook_event=str(event.id)):
                pairs += _deliveries_of(event, listening[event.account])
                if (own := direct.get((event.account, event.direct_url))) is not None:
                    pairs.append((event.id, own))
                done.append(event.id)
        rows = [{"id": ids.new_uuid(), "event_id": event, "endpoint_id": endpoint} for event, endpoint in pairs]
        with pipeline() as send:
            send(_INSERT, {"attempts": ATTEMPTS, "now": timezone.now(), "new": orjson.dumps(rows).decode()})
            send(_DONE, {"events": done})
        return len(done)


def _deliveries_of(event: _Happened, listening: Sequence[_Listener]) -> list[tuple[uuid.UUID, uuid.UUID]]:
    # An event's time is in whole milliseconds, so it may seem to be a little before the endpoint's.
    until = ids.created_at_of(event.id) + timedelta(milliseconds=1)
    return [
        (event.id, endpoint.id)
        for endpoint in listening
        if endpoint.subscribed_at < until and (EVERYTHING in endpoint.events or event.type in endpoint.events)
    ]


def _make_direct_endpoints(events: Sequence[_Happened]) -> None:
    """Make the endpoints that stand for payments' own webhook URLs when they are first needed."""
    wanted = {(event.merchant_id, event.environment, event.direct_url) for event in events if event.direct_url}
    if not wanted:
        return
    known = set(
        Endpoint.objects.filter(is_direct=True, url__in={url for *_, url in wanted}).values_list(
            "merchant_id", "environment", "url"
        )
    )
    made = [
        Endpoint(merchant_id=merchant_id, environment=environment, url=url, events=[EVERYTHING], is_direct=True)
        for merchant_id, environment, url in sorted(wanted - known)
    ]
    if made:
        Endpoint.objects.bulk_create(made, ignore_conflicts=True)


def _listeners_of(
    events: Sequence[_Happened],
) -> tuple[dict[Account, list[_Listener]], dict[tuple[Account, str], uuid.UUID]]:
    """Registered endpoints by account, and the endpoints of payments' own webhook URLs by account and URL."""
    with pipeline() as send:
        found = send(
            _LISTENERS,
            {
                "merchants": list({event.merchant_id for event in events}),
                "urls": list({event.direct_url for event in events if event.direct_url}),
            },
        )
    listening: dict[Account, list[_Listener]] = defaultdict(list)
    direct: dict[tuple[Account, str], uuid.UUID] = {}
    for endpoint in (_Listener(*row) for row in found):
        account = endpoint.merchant_id, endpoint.environment
        if endpoint.is_direct:
            direct[account, endpoint.url] = endpoint.id
        else:
            listening[account].append(endpoint)
    return listening, direct
