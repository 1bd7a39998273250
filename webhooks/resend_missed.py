"""Sending an endpoint what it has not got since some moment, and nothing that it has."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from config import ids
from config.errors import InvalidParameter
from webhooks.events.catalogue import EVERYTHING, WEBHOOK_TEST
from webhooks.events.recording import wake_dispatcher
from webhooks.models import Delivery, Endpoint, Event
from webhooks.schedule import ATTEMPTS
from webhooks.services import enable_endpoint
from webhooks.states import DELIVERY_MOVES, DeliveryStatus

RECOVERED_AT_ONCE: Final = 10_000
"""Events of one recovery, at most: the oldest. What is left can be recovered after them."""

_ENDED: Final = (DeliveryStatus.DELIVERED, DeliveryStatus.FAILED, DeliveryStatus.DISCARDED)


@dataclass(frozen=True)
class Missed:
    """Number of events of a type that would be sent, by the outcome of their deliveries so far."""

    type: str
    failed: int
    """All attempts failed, or they were discarded when the endpoint was disabled."""
    never: int
    """There was no delivery: the endpoint was disabled, did not exist yet, or did not listen."""
    delivered: int
    """Arrived before; zero unless everything is requested."""

    @property
    def total(self) -> int:
        return self.failed + self.never + self.delivered


@dataclass(frozen=True)
class Plan:
    """Preview of a recovery."""

    missed: Sequence[Missed]
    """In the order of the types' names."""
    is_cut: bool
    """There is more than one recovery sends."""

    @property
    def total(self) -> int:
        return sum(each.total for each in self.missed)


def plan(*, endpoint: Endpoint, since: datetime, everything: bool = False) -> Plan:
    """Preview of `recover` as of now."""
    events = _events(endpoint, since, everything=everything)
    found = events[:RECOVERED_AT_ONCE]
    became = dict(_deliveries(endpoint, [key for key, _ in found]).values_list("event_id", "status"))
    counts = Counter((type, became.get(key, "")) for key, type in found)
    missed = [
        Missed(
            type,
            failed=counts[type, DeliveryStatus.FAILED] + counts[type, DeliveryStatus.DISCARDED],
            never=counts[type, ""],
            delivered=counts[type, DeliveryStatus.DELIVERED],
        )
        for type in sorted({type for _, type in found})
    ]
    return Plan(missed, is_cut=len(events) > RECOVERED_AT_ONCE)


def recover(*, endpoint: Endpoint, since: datetime, everything: bool = False) -> int:
    """Send the endpoint, oldest first, the events since a moment that it has not got; returns how many.

    A disabled endpoint is enabled. Pending deliveries are left as they are, and what has arrived is sent again only
    with `everything`. Events of types that it does not listen to are left out.
    """
    now = timezone.now()
    if since > now:
        raise InvalidParameter("Choose a time in the past.", param="since")
    with transaction.atomic():
        endpoint = enable_endpoint(endpoint=endpoint)
        endpoint = Endpoint.objects.select_for_update(no_key=True).get(pk=endpoint.pk)
        keys = [key for key, _ in _events(endpoint, since, everything=everything)[:RECOVERED_AT_ONCE]]
        known = set(_deliveries(endpoint, keys).values_list("event_id", flat=True))
        # The dispatcher takes what became due first: a microsecond each keeps the order in which things happened.
        due = {key: now - timedelta(microseconds=len(keys) - place) for place, key in enumerate(keys)}
        _send_again(endpoint, {key: at for key, at in due.items() if key in known})
        new = (
            Delivery(
                merchant_id=endpoint.merchant_id,
                environment=endpoint.environment,
                event_id=key,
                endpoint=endpoint,
                attempts_left=ATTEMPTS,
                next_attempt_at=at,
            )
            for key, at in due.items()
            if key not in known
        )
        Delivery.objects.bulk_create(new, batch_size=1000, ignore_conflicts=True)
        wake_dispatcher()
        return len(keys)


def _events(endpoint: Endpoint, since: datetime, *, everything: bool) -> list[tuple[uuid.UUID, str]]:
    """Keys and types of what is to be sent, oldest first: one more than a recovery sends, if there are so many."""
    # Events without deliveries yet are not looked at: the fan-out sends them in a moment.
    events = Event.objects.filter(
        pk__gte=ids.first_uuid_at(since),
        merchant_id=endpoint.merchant_id,
        environment=endpoint.environment,
        is_fanned_out=True,
    ).exclude(type=WEBHOOK_TEST)
    if EVERYTHING not in endpoint.events:
        events = events.filter(type__in=endpoint.events)
    if endpoint.is_direct:
        events = events.filter(direct_url=endpoint.url)
    not_to_send = [DeliveryStatus.PENDING] if everything else [DeliveryStatus.PENDING, DeliveryStatus.DELIVERED]
    has = Delivery.objects.filter(event=OuterRef("pk"), endpoint=endpoint, status__in=not_to_send)
    return list(events.filter(~Exists(has)).order_by("pk").values_list("pk", "type")[: RECOVERED_AT_ONCE + 1])


def _deliveries(endpoint: Endpoint, keys: Iterable[uuid.UUID]) -> QuerySet[Delivery]:
    return Delivery.objects.filter(endpoint=endpoint, event__in=list(keys))


_AGAIN = """
    UPDATE webhooks_delivery AS delivery SET
        status = 'pending', attempts_left = %(attempts)s, early_tries = 0, delivered_at = NULL, next_attempt_at = due.at
    FROM unnest(%(keys)s::uuid[], %(instants)s::timestamptz[]) AS due (event_id, at)
    WHERE delivery.event_id = due.event_id AND delivery.endpoint_id = %(endpoint)s AND delivery.status = ANY(%(ended)s)
"""


def _send_again(endpoint: Endpoint, due: dict[uuid.UUID, datetime]) -> None:
    """Make deliveries of a locked endpoint that have ended due at these instants, with all their attempts anew."""
    for ended in _ENDED:
        DELIVERY_MOVES.check(ended, DeliveryStatus.PENDING)
    parameters: dict[str, Any] = {
        "attempts": ATTEMPTS,
        "keys": list(due),
        "instants": list(due.values()),
        "endpoint": endpoint.pk,
        "ended": [str(status) for status in _ENDED],
    }
    with connection.cursor() as cursor:
        cursor.execute(_AGAIN, parameters)
