"""Records what became of requests: attempts, and what follows for their deliveries and endpoints."""

from __future__ import annotations

import base64
import random
import uuid
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import orjson
from django.db import connection, transaction
from django.utils import timezone

from webhooks.models import Attempt, Delivery, Endpoint, EndpointLease
from webhooks.schedule import FAILING_MAX, Outcome, Reply, next_attempt_at
from webhooks.sending.due_deliveries import DueDelivery
from webhooks.sending.half_open import go_on
from webhooks.sending.statements import pipeline
from webhooks.services import disable_endpoint
from webhooks.states import DELIVERY_MOVES, DeliveryStatus, DisabledReason, EndpointStatus

OUTAGE_MIN = timedelta(seconds=30)
"""An endpoint that failed for a shorter time is sent its backlog without a limit of pace."""

UNRECORDED_PAUSE = timedelta(minutes=1)
"""The wait before a delivery is sent again when its attempt could not be recorded."""


class Sent(NamedTuple):
    """The outcome of one request. The id is that of the attempt, so that it cannot be recorded twice."""

    id: uuid.UUID
    due: DueDelivery
    dispatcher: int
    started_at: datetime
    duration: timedelta
    reply: Reply

    @property
    def ended_at(self) -> datetime:
        return self.started_at + self.duration


# Endpoints before deliveries, as in docs/locking.md. FOR SHARE where nothing about the endpoint will change, so that
# recording and fan-out do not wait for each other.
_HOLD_ENDPOINTS = "SELECT FROM webhooks_endpoint WHERE id = ANY(%(keys)s) ORDER BY id FOR SHARE"

# The usual case in one statement: successes of endpoints that are well, passed as one JSON text, which costs a fraction
# of eight arrays. Returns the attempts it did not record, among them those whose delivery is no longer pending.
_RECORD_SUCCESSES = """
    WITH sent AS (
        SELECT * FROM json_to_recordset(%(sent)s) AS sent (
            id uuid, endpoint_id uuid, delivery_id uuid, started_at timestamptz, ended_at timestamptz,
            milliseconds integer, status_code smallint, reply text, error text
        )
    ), delivered AS (
        UPDATE webhooks_delivery AS delivery SET
            status = 'delivered', attempt_count = delivery.attempt_count + 1, next_attempt_at = NULL,
            delivered_at = sent.ended_at
        FROM sent JOIN webhooks_endpoint AS endpoint ON endpoint.id = sent.endpoint_id
        WHERE delivery.id = sent.delivery_id AND delivery.status = 'pending'
            AND endpoint.failing_since IS NULL AND NOT endpoint.is_recovering
        RETURNING sent.*, delivery.attempt_count AS number
    ), recorded AS (
        INSERT INTO webhooks_attempt (
            id, delivery_id, number, started_at, duration_milliseconds, status_code, reply, error
        )
        SELECT id, delivery_id, number, started_at, milliseconds, status_code, decode(reply, 'base64'), error
        FROM delivered
        RETURNING id
    )
    SELECT sent.id FROM sent WHERE NOT EXISTS (SELECT FROM recorded WHERE recorded.id = sent.id)
"""

_UPDATE_DELIVERIES = """
    UPDATE webhooks_delivery AS delivery SET
        status = new.status, attempt_count = new.attempt_count, attempts_left = new.attempts_left,
        next_attempt_at = new.next_attempt_at, delivered_at = new.delivered_at
    FROM unnest(%s::uuid[], %s::text[], %s::int[], %s::int[], %s::timestamptz[], %s::timestamptz[])
        AS new (id, status, attempt_count, attempts_left, next_attempt_at, delivered_at)
    WHERE delivery.id = new.id
"""


def record(results: Sequence[Sent], *, chance: random.Random, again: bool = False) -> None:
    """Record attempts and the new states of their deliveries and endpoints.

    Each is recorded completely or not at all. With `again`, some may be recorded already: those are left out.
    """
    if again:
        known = set(Attempt.objects.filter(pk__in=[sent.id for sent in results]).values_list("pk", flat=True))
        results = [sent for sent in results if sent.id not in known]
    if rest := _record_usual(results):
        with transaction.atomic():
            _record_in_full(rest, chance)


def put_off(sent: Sent) -> None:
    """Postpone a delivery whose attempt cannot be recorded: it is still due, and would be sent again at once."""
    pending = Delivery.objects.filter(pk=sent.due.delivery_id, status=DeliveryStatus.PENDING)
    pending.update(next_attempt_at=timezone.now() + UNRECORDED_PAUSE)


def _record_usual(results: Sequence[Sent]) -> list[Sent]:
    """Record successes that change nothing about their endpoint; returns the other results."""
    successes = [sent for sent in results if sent.reply.outcome is Outcome.SUCCESS]
    if not successes:
        return list(results)
    with transaction.atomic():
        with pipeline() as send:
            send(_HOLD_ENDPOINTS, {"keys": list({sent.due.endpoint_id for sent in successes})})
            unrecorded = send(_RECORD_SUCCESSES, {"sent": orjson.dumps([_row(sent) for sent in successes]).decode()})
        left = {key for (key,) in unrecorded.fetchall()}
    return [sent for sent in results if sent.id in left or sent.reply.outcome is not Outcome.SUCCESS]


def _row(sent: Sent) -> dict[str, object]:
    return {
        "id": sent.id,
        "endpoint_id": sent.due.endpoint_id,
        "delivery_id": sent.due.delivery_id,
        "started_at": sent.started_at,
        "ended_at": sent.ended_at,
        "milliseconds": sent.duration // timedelta(milliseconds=1),
        "status_code": sent.reply.status_code,
        "reply": base64.b64encode(sent.reply.body).decode(),
        "error": sent.reply.error,
    }


def _record_in_full(results: Sequence[Sent], chance: random.Random) -> None:
    endpoints = _locked_endpoints({sent.due.endpoint_id for sent in results})
    deliveries = _locked_deliveries({sent.due.delivery_id for sent in results})
    leased = _leased(endpoints)
    attempts, learned = [], set()
    for sent in results:
        delivery, endpoint = deliveries[sent.due.delivery_id], endpoints[sent.due.endpoint_id]
        delivery.attempt_count += 1
        attempts.append(_attempt(sent, delivery))
        _advance(delivery, sent, chance, is_leased=(endpoint.pk, sent.dispatcher) in leased)
        if _learn(endpoint, sent):
            learned.add(endpoint)
    Attempt.objects.bulk_create(attempts)
    _update_deliveries(list(deliveries.values()))
    if learned:
        Endpoint.objects.bulk_update(learned, ["failing_since", "is_recovering"])
    well = [endpoint for endpoint in endpoints.values() if endpoint.failing_since is None]
    go_on(
        {endpoint.pk for endpoint in well if endpoint in learned},
        {endpoint.pk for endpoint in well if endpoint.is_recovering},
        now=timezone.now(),
    )
    for endpoint, reason in _hopeless(endpoints, results):
        disable_endpoint(endpoint=endpoint, reason=reason)


def _locked_endpoints(keys: set[uuid.UUID]) -> dict[uuid.UUID, Endpoint]:
    rows = Endpoint.objects.select_for_update(no_key=True).filter(pk__in=keys).order_by("pk")
    return {row.pk: row for row in rows}


def _locked_deliveries(keys: set[uuid.UUID]) -> dict[uuid.UUID, Delivery]:
    rows = Delivery.objects.select_for_update(no_key=True).filter(pk__in=keys).order_by("pk")
    fields = ("status", "attempt_count", "attempts_left", "next_attempt_at", "delivered_at")
    return {row.pk: row for row in rows.only(*fields)}


def _leased(keys: Collection[uuid.UUID]) -> set[tuple[uuid.UUID, int]]:
    """The leases of these endpoints: pairs of endpoint and dispatcher."""
    return set(EndpointLease.objects.filter(pk__in=keys).values_list("pk", "dispatcher"))


def _attempt(sent: Sent, delivery: Delivery) -> Attempt:
    return Attempt(
        id=sent.id,
        delivery_id=delivery.pk,
        number=delivery.attempt_count,
        started_at=sent.started_at,
        duration_milliseconds=sent.duration // timedelta(milliseconds=1),
        status_code=sent.reply.status_code,
        reply=sent.reply.body,
        error=sent.reply.error,
    )


def _advance(delivery: Delivery, sent: Sent, chance: random.Random, *, is_leased: bool) -> None:
    if delivery.status != DeliveryStatus.PENDING:
        return  # discarded while it was on its way, or delivered by another; the attempt is kept
    if sent.reply.outcome is Outcome.SUCCESS:
        _finish(delivery, DeliveryStatus.DELIVERED)
        delivery.delivered_at = sent.ended_at
        return
    if not is_leased:
        return  # another dispatcher may be sending it, and decides what follows
    delivery.attempts_left = max(0, delivery.attempts_left - 1)
    due_at = next_attempt_at(
        sent.ended_at, attempts_left=delivery.attempts_left, retry_after=sent.reply.retry_after, chance=chance
    )
    if due_at is None:
        _finish(delivery, DeliveryStatus.FAILED)
    else:
        delivery.next_attempt_at = due_at


def _finish(delivery: Delivery, status: DeliveryStatus) -> None:
    DELIVERY_MOVES.check(delivery.status, status)
    delivery.status = status
    delivery.next_attempt_at = None


def _learn(endpoint: Endpoint, sent: Sent) -> bool:
    """Note in the endpoint that it fails or works again; True when that is new."""
    if sent.reply.outcome is not Outcome.SUCCESS:
        if endpoint.failing_since is not None:
            return False
        endpoint.failing_since = sent.started_at
        return True
    if endpoint.failing_since is None:
        return False
    endpoint.is_recovering = endpoint.is_recovering or sent.ended_at - endpoint.failing_since >= OUTAGE_MIN
    endpoint.failing_since = None
    return True


def _hopeless(endpoints: dict[uuid.UUID, Endpoint], results: Sequence[Sent]) -> list[tuple[Endpoint, DisabledReason]]:
    gone = {sent.due.endpoint_id for sent in results if sent.reply.outcome is Outcome.GONE}
    failed = {sent.due.endpoint_id for sent in results if sent.reply.outcome is not Outcome.SUCCESS}
    found = []
    for key in sorted(failed):
        endpoint = endpoints[key]
        if endpoint.status != EndpointStatus.ENABLED:
            continue
        if key in gone:
            found.append((endpoint, DisabledReason.GONE))
        elif endpoint.failing_since is not None and timezone.now() - endpoint.failing_since >= FAILING_MAX:
            found.append((endpoint, DisabledReason.FAILING))
    return found


def _update_deliveries(deliveries: Sequence[Delivery]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            _UPDATE_DELIVERIES,
            [
                [row.pk for row in deliveries],
                [str(row.status) for row in deliveries],
                [row.attempt_count for row in deliveries],
                [row.attempts_left for row in deliveries],
                [row.next_attempt_at for row in deliveries],
                [row.delivered_at for row in deliveries],
            ],
        )
