"""Deliveries that a dispatcher may send now: few for each endpoint, fair to all, never one twice.

Only one dispatcher at a time has the lease of an endpoint. So it writes nothing when it takes deliveries: it remembers
what it has taken, and what it has not sent stays due.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import orjson
from django.db import transaction

from webhooks.sending.leases import LEASE, RENEW_AFTER
from webhooks.sending.statements import pipeline

IN_FLIGHT_PER_ENDPOINT = 4
PACE = timedelta(milliseconds=100)
"""Between two deliveries to an endpoint that fails, or has just come back: ten a second until its backlog is gone."""


class DueDelivery(NamedTuple):
    """A delivery that this dispatcher, and no other, is to send now."""

    delivery_id: uuid.UUID
    endpoint_id: uuid.UUID
    event_id: uuid.UUID
    is_probe: bool
    """The endpoint has been failing: this delivery tests whether it is back."""
    endpoint_version: str
    """Changes whenever anything about the endpoint changes."""


class Holding(NamedTuple):
    """Deliveries of one endpoint that a dispatcher has taken already."""

    endpoint_id: uuid.UUID
    delivery_ids: Sequence[uuid.UUID]
    """Sent and not yet recorded, or to be sent."""
    ahead: int
    """Number it can use beyond those that may be in flight."""


# Steps through the index of pending deliveries from endpoint to endpoint, and skips the rest of each backlog. No more
# endpoints are leased than there is work for, so that other dispatchers get theirs.
_LEASE = """
    WITH RECURSIVE waiting AS (
        (
            SELECT endpoint_id, next_attempt_at FROM webhooks_delivery WHERE status = 'pending'
            ORDER BY endpoint_id, next_attempt_at LIMIT 1
        )
        UNION ALL
        SELECT following.endpoint_id, following.next_attempt_at FROM waiting CROSS JOIN LATERAL (
            SELECT pending.endpoint_id, pending.next_attempt_at FROM webhooks_delivery AS pending
            WHERE pending.status = 'pending' AND pending.endpoint_id > waiting.endpoint_id
            ORDER BY pending.endpoint_id, pending.next_attempt_at LIMIT 1
        ) AS following
    ), free AS (
        SELECT endpoint.id, endpoint.is_failing,
            row_number() OVER (PARTITION BY endpoint.is_failing ORDER BY random()) AS number
        FROM waiting
        CROSS JOIN LATERAL (
            SELECT candidate.id, candidate.failing_since IS NOT NULL AS is_failing FROM webhooks_endpoint AS candidate
            WHERE candidate.id = waiting.endpoint_id AND candidate.status = 'enabled'
                AND candidate.next_claim_at <= %(now)s
            OFFSET 0
        ) AS endpoint
        WHERE waiting.next_attempt_at <= %(now)s
            AND NOT EXISTS (SELECT FROM webhooks_endpointlease AS lease WHERE lease.endpoint_id = waiting.endpoint_id)
    )
    INSERT INTO webhooks_endpointlease (endpoint_id, dispatcher, until)
    SELECT id, %(dispatcher)s, %(until)s FROM free
    WHERE number <= CASE WHEN is_failing THEN %(probes)s ELSE %(endpoints)s END
    ORDER BY id
    ON CONFLICT (endpoint_id) DO NOTHING
"""

# Takes from each endpoint what it has room for, oldest first, and one endpoint after the other, so that a long backlog
# never delays the first delivery of another. Locked rows, such as those that are being discarded, are skipped.
_TAKE_DUE = """
    WITH held AS (
        SELECT * FROM json_to_recordset(%(held)s) AS held (endpoint_id uuid, number integer, ahead integer)
    ), ready AS (
        SELECT endpoint.id, endpoint.version, endpoint.failing_since IS NOT NULL AS is_failing,
            endpoint.failing_since IS NOT NULL OR endpoint.is_recovering AS is_paced,
            CASE
                WHEN endpoint.failing_since IS NOT NULL THEN 1 - coalesce(held.number, 0)
                WHEN endpoint.is_recovering THEN least(1, %(in_flight)s - coalesce(held.number, 0))
                ELSE %(in_flight)s + coalesce(held.ahead - held.number, 0)
            END AS room
        FROM webhooks_endpointlease AS lease
        CROSS JOIN LATERAL (
            SELECT candidate.*, candidate.xmin::text AS version FROM webhooks_endpoint AS candidate
            WHERE candidate.id = lease.endpoint_id OFFSET 0
        ) AS endpoint
        LEFT JOIN held ON held.endpoint_id = lease.endpoint_id
        WHERE lease.dispatcher = %(dispatcher)s AND endpoint.status = 'enabled' AND endpoint.next_claim_at <= %(now)s
    ), turns AS (
        SELECT turn.*, ready.version, ready.is_failing, ready.is_paced,
            row_number() OVER (PARTITION BY ready.is_failing ORDER BY turn.place, random()) AS number
        FROM ready CROSS JOIN LATERAL (
            SELECT due.*, row_number() OVER (ORDER BY due.next_attempt_at) AS place FROM (
                SELECT delivery.id, delivery.endpoint_id, delivery.event_id, delivery.next_attempt_at
                FROM webhooks_delivery AS delivery
                WHERE delivery.endpoint_id = ready.id AND delivery.status = 'pending'
                    AND delivery.next_attempt_at <= %(now)s AND delivery.id <> ALL(%(taken)s::uuid[])
                ORDER BY delivery.next_attempt_at LIMIT greatest(ready.room, 0)
                FOR NO KEY UPDATE SKIP LOCKED
            ) AS due
        ) AS turn
    )
    SELECT id, endpoint_id, event_id, is_failing, version, is_paced FROM turns
    WHERE NOT is_failing OR number <= %(probes)s
    ORDER BY place, random() LIMIT %(limit)s
"""

# Skips locked endpoints: whoever holds one may be waiting for these deliveries, which would be a deadlock.
_PACE = """
    UPDATE webhooks_endpoint SET next_claim_at = %(at)s
    WHERE id IN (SELECT id FROM webhooks_endpoint WHERE id = ANY(%(paced)s) FOR NO KEY UPDATE SKIP LOCKED)
"""

_RENEW = """
    UPDATE webhooks_endpointlease SET until = %(until)s WHERE dispatcher = %(dispatcher)s AND until < %(old)s
"""

_RELEASE = """
    DELETE FROM webhooks_endpointlease WHERE dispatcher = %(dispatcher)s AND endpoint_id <> ALL(%(in_use)s::uuid[])
"""


def take_due(
    dispatcher: int, *, limit: int, probes: int, now: datetime, holdings: Collection[Holding] = ()
) -> list[DueDelivery]:
    """Take up to `limit` deliveries that are due, at most `probes` of them to endpoints that have been failing.

    The leases of endpoints in `holdings`, and of those taken from now, are renewed; the dispatcher's other leases end.
    """
    until = now + LEASE
    with transaction.atomic():
        rows = _take(dispatcher, limit, probes, now, until, holdings) if limit > 0 else []
        due = [DueDelivery(*row[:5]) for row in rows]
        in_use = {holding.endpoint_id for holding in holdings} | {each.endpoint_id for each in due}
        with pipeline() as send:
            if paced := [each.endpoint_id for each, row in zip(due, rows, strict=True) if row[5]]:
                send(_PACE, {"at": now + PACE, "paced": paced})
            send(_RELEASE, {"dispatcher": dispatcher, "in_use": list(in_use)})
            send(_RENEW, {"dispatcher": dispatcher, "until": until, "old": until - RENEW_AFTER})
        return due


def _take(
    dispatcher: int, limit: int, probes: int, now: datetime, until: datetime, holdings: Collection[Holding]
) -> list[tuple[uuid.UUID, uuid.UUID, uuid.UUID, bool, str, bool]]:
    held = [
        {"endpoint_id": endpoint_id, "number": len(delivery_ids), "ahead": ahead}
        for endpoint_id, delivery_ids, ahead in holdings
    ]
    parameters = {
        "now": now,
        "until": until,
        "dispatcher": dispatcher,
        "in_flight": IN_FLIGHT_PER_ENDPOINT,
        "limit": limit,
        "endpoints": -(-limit // IN_FLIGHT_PER_ENDPOINT),
        "probes": probes,
        "held": orjson.dumps(held).decode(),
        "taken": [key for holding in holdings for key in holding.delivery_ids],
    }
    with pipeline() as send:
        send(_LEASE, parameters)
        taken = send(_TAKE_DUE, parameters)
    return taken.fetchall()
