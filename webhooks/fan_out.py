"""From events to deliveries: one for each endpoint that listens. Kept off the path of whoever records an event."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta

import orjson
from django.db import connection, transaction
from django.utils import timezone

from config import ids
from webhooks.events import EVERYTHING
from webhooks.models import Endpoint, Event
from webhooks.schedule import ATTEMPTS
from webhooks.states import DeliveryStatus, EndpointStatus

BATCH = 100
"""Events of one database transaction; short enough for what waits to be recorded meanwhile."""

Account = tuple[uuid.UUID, str]
"""A merchant's id and an environment."""

_INSERT = """
    INSERT INTO webhooks_delivery (
        id, merchant_id, environment, event_id, endpoint_id, status, attempt_count, attempts_left, next_attempt_at
    )
    SELECT new.id, endpoint.merchant_id, endpoint.environment, new.event_id, new.endpoint_id, %s, 0, %s, %s
    FROM json_to_recordset(%s) AS new (id uuid, event_id uuid, endpoint_id uuid)
    JOIN webhooks_endpoint AS endpoint ON endpoint.id = new.endpoint_id
    ON CONFLICT (event_id, endpoint_id) DO NOTHING
"""


def fan_out(*, limit: int = BATCH) -> int:
    """Make the deliveries of the oldest events that have none yet; answers how many events. Any number may run at once.

    Only endpoints that were listening when an event happened are told of it.
    """
    if not Event.objects.filter(is_fanned_out=False).exists():
        return 0  # the answer nearly always, without a transaction
    with transaction.atomic():
        waiting = Event.objects.select_for_update(skip_locked=True, no_key=True).filter(is_fanned_out=False)
        fields = ("id", "merchant_id", "environment", "type", "direct_url")
        events = list(waiting.order_by("id").only(*fields)[:limit])
        if not events:
            return 0
        _make_direct_endpoints(events)
        listening, direct = _endpoints_for(events)
        pairs = []
        for event in events:
            account = (event.merchant_id, event.environment)
            pairs += [(event.pk, endpoint.pk) for endpoint in listening[account] if _listens(endpoint, event)]
            if (own := direct.get((*account, event.direct_url))) is not None:
                pairs.append((event.pk, own))
        if pairs:
            _insert_deliveries(pairs, timezone.now())
        Event.objects.filter(pk__in=[event.pk for event in events]).update(is_fanned_out=True)
        return len(events)


def _listens(endpoint: Endpoint, event: Event) -> bool:
    # An event's instant is in whole milliseconds, so it may seem to lie a little before the endpoint's.
    is_in_time = endpoint.subscribed_at < event.created_at + timedelta(milliseconds=1)
    return is_in_time and (EVERYTHING in endpoint.events or event.type in endpoint.events)


def _make_direct_endpoints(events: Sequence[Event]) -> None:
    """The endpoints that stand for payments' own addresses are made when they are first needed."""
    wanted = {(event.merchant_id, event.environment, event.direct_url) for event in events if event.direct_url}
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


def _endpoints_for(
    events: Sequence[Event],
) -> tuple[dict[Account, list[Endpoint]], dict[tuple[uuid.UUID, str, str], uuid.UUID]]:
    """Who may be told: registered endpoints by account, and payments' own addresses.

    They are locked, so that none is disabled while it is given something to deliver: that would wait for ever.
    """
    merchants = {event.merchant_id for event in events}
    urls = {event.direct_url for event in events if event.direct_url}
    enabled = Endpoint.objects.existing().filter(merchant_id__in=merchants, status=EndpointStatus.ENABLED)
    found = enabled.filter(is_direct=False) | enabled.filter(is_direct=True, url__in=urls)
    listening: dict[Account, list[Endpoint]] = defaultdict(list)
    direct: dict[tuple[uuid.UUID, str, str], uuid.UUID] = {}
    for endpoint in found.select_for_update(no_key=True).order_by("pk"):
        if endpoint.is_direct:
            direct[endpoint.merchant_id, endpoint.environment, endpoint.url] = endpoint.pk
        else:
            listening[endpoint.merchant_id, endpoint.environment].append(endpoint)
    return listening, direct


def _insert_deliveries(pairs: Sequence[tuple[uuid.UUID, uuid.UUID]], now: datetime) -> None:
    rows = [{"id": ids.new_uuid(), "event_id": event, "endpoint_id": endpoint} for event, endpoint in pairs]
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, [DeliveryStatus.PENDING.value, ATTEMPTS, now, orjson.dumps(rows).decode()])
