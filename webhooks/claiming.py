"""Which deliveries a dispatcher may send now: few for each endpoint, fair to all, never one twice."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import transaction

from webhooks.leases import LEASE
from webhooks.statements import together

IN_FLIGHT_PER_ENDPOINT = 4
PACE = timedelta(milliseconds=100)
"""Between two deliveries to an endpoint that fails, or has just come back: ten a second until its backlog is gone."""


class Claim(NamedTuple):
    """A delivery that this dispatcher, and no other, is to send now."""

    delivery_id: uuid.UUID
    endpoint_id: uuid.UUID
    event_id: uuid.UUID
    is_probe: bool
    """The endpoint has been failing: this asks whether it is back."""
    endpoint_version: str
    """Another one whenever anything about the endpoint has changed."""


_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(%(lock)s)"
_LOCK = 0x77686B636C61696D

# The first part steps from endpoint to endpoint through the index of what is pending, past the backlog of each and past
# all endpoints that have none. Each gives as much as it has room for, oldest first; the places are taken in turn, so
# that a long backlog of one never stands before the first delivery of another. Claims are made one after the other, so
# that no two count the same requests in flight. They hold no endpoint: one disabled meanwhile has nothing pending.
_CLAIM = """
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
    ), ready AS (
        SELECT endpoint.id, endpoint.version, endpoint.failing_since IS NOT NULL AS is_failing,
            endpoint.failing_since IS NOT NULL OR endpoint.is_recovering AS is_paced,
            CASE
                WHEN endpoint.failing_since IS NOT NULL THEN 1 - flying.number
                WHEN endpoint.is_recovering THEN least(1, %(in_flight)s - flying.number)
                ELSE %(in_flight)s - flying.number
            END AS room
        FROM waiting
        CROSS JOIN LATERAL (
            SELECT candidate.*, candidate.xmin::text AS version FROM webhooks_endpoint AS candidate
            WHERE candidate.id = waiting.endpoint_id OFFSET 0
        ) AS endpoint
        CROSS JOIN LATERAL (
            SELECT count(*) AS number FROM webhooks_delivery AS delivery
            WHERE delivery.endpoint_id = endpoint.id AND delivery.dispatcher IS NOT NULL
        ) AS flying
        WHERE waiting.next_attempt_at <= %(now)s AND endpoint.status = 'enabled' AND endpoint.next_claim_at <= %(now)s
    ), turns AS (
        SELECT turn.*, ready.version, ready.is_failing, ready.is_paced,
            row_number() OVER (PARTITION BY ready.is_failing ORDER BY turn.place, random()) AS number
        FROM ready CROSS JOIN LATERAL (
            SELECT due.id, row_number() OVER (ORDER BY due.next_attempt_at) AS place FROM (
                SELECT delivery.id, delivery.next_attempt_at FROM webhooks_delivery AS delivery
                WHERE delivery.endpoint_id = ready.id AND delivery.status = 'pending'
                    AND delivery.next_attempt_at <= %(now)s AND delivery.dispatcher IS NULL
                ORDER BY delivery.next_attempt_at LIMIT greatest(ready.room, 0)
                FOR NO KEY UPDATE SKIP LOCKED
            ) AS due
        ) AS turn
    ), picked AS (
        SELECT id, version, is_failing, is_paced FROM turns WHERE NOT is_failing OR number <= %(probes)s
        ORDER BY place, random() LIMIT %(limit)s
    )
    UPDATE webhooks_delivery AS delivery SET dispatcher = %(dispatcher)s, leased_until = %(leased_until)s
    FROM picked WHERE delivery.id = picked.id
    RETURNING delivery.id, delivery.endpoint_id, delivery.event_id, picked.is_failing, picked.version, picked.is_paced
"""

# Whoever holds an endpoint may be waiting for one of these deliveries, so it is not waited for in turn.
_PACE = """
    UPDATE webhooks_endpoint SET next_claim_at = %(at)s
    WHERE id IN (SELECT id FROM webhooks_endpoint WHERE id = ANY(%(paced)s) FOR NO KEY UPDATE SKIP LOCKED)
"""


def claim(dispatcher: int, *, limit: int, probes: int, now: datetime) -> list[Claim]:
    """Take up to `limit` deliveries that are due, at most `probes` of them to endpoints that have been failing."""
    with transaction.atomic():
        with together() as send:
            send(_ONE_AT_A_TIME, {"lock": _LOCK})
            claimed = send(
                _CLAIM,
                {
                    "now": now,
                    "in_flight": IN_FLIGHT_PER_ENDPOINT,
                    "limit": limit,
                    "probes": probes,
                    "dispatcher": dispatcher,
                    "leased_until": now + LEASE,
                },
            )
        rows = claimed.fetchall()
        if paced := [endpoint_id for _, endpoint_id, *_, is_paced in rows if is_paced]:
            with together() as send:
                send(_PACE, {"at": now + PACE, "paced": paced})
        return [Claim(*row) for *row, _ in rows]
