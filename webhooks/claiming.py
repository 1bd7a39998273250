"""Which deliveries a dispatcher may send now: few for each endpoint, fair to all, never one twice."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection, transaction

from webhooks.leases import LEASE

IN_FLIGHT_PER_ENDPOINT = 4
PACE = timedelta(milliseconds=100)
"""Between two deliveries to an endpoint that fails, or has just come back: ten a second until its backlog is gone."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A delivery that this dispatcher, and no other, is to send now."""

    delivery_id: uuid.UUID
    endpoint_id: uuid.UUID
    event_id: uuid.UUID
    is_probe: bool
    """The endpoint has been failing: this asks whether it is back."""


# An endpoint with a place free and something due is locked before its requests in flight are counted for good: so two
# dispatchers never count at once. The first part steps from endpoint to endpoint through the index of what is pending,
# past the backlog of each and past all endpoints that have none.
_LOCK_READY = """
    WITH RECURSIVE waiting AS (
        (SELECT endpoint_id FROM webhooks_delivery WHERE status = 'pending' ORDER BY endpoint_id LIMIT 1)
        UNION ALL
        SELECT (
            SELECT pending.endpoint_id FROM webhooks_delivery AS pending
            WHERE pending.status = 'pending' AND pending.endpoint_id > waiting.endpoint_id
            ORDER BY pending.endpoint_id LIMIT 1
        )
        FROM waiting WHERE waiting.endpoint_id IS NOT NULL
    ), flying AS (
        SELECT endpoint_id, count(*) AS number FROM webhooks_delivery WHERE dispatcher IS NOT NULL GROUP BY endpoint_id
    )
    SELECT endpoint.id
    FROM waiting
    JOIN webhooks_endpoint AS endpoint ON endpoint.id = waiting.endpoint_id
    LEFT JOIN flying ON flying.endpoint_id = endpoint.id
    WHERE endpoint.status = 'enabled' AND endpoint.next_claim_at <= %(now)s
        AND coalesce(flying.number, 0) < CASE WHEN endpoint.failing_since IS NULL THEN %(in_flight)s ELSE 1 END
        AND EXISTS (
            SELECT FROM webhooks_delivery AS due WHERE due.endpoint_id = endpoint.id AND due.status = 'pending'
                AND due.next_attempt_at <= %(now)s AND due.dispatcher IS NULL
        )
    FOR NO KEY UPDATE OF endpoint SKIP LOCKED
"""

# Each endpoint gives as much as it has room for, oldest first; the places are taken in turn, so that a long backlog of
# one never stands before the first delivery of another.
_CLAIM = """
    WITH flying AS (
        SELECT endpoint_id, count(*) AS number FROM webhooks_delivery
        WHERE dispatcher IS NOT NULL AND endpoint_id = ANY(%(ready)s) GROUP BY endpoint_id
    ), ready AS (
        SELECT endpoint.id, endpoint.failing_since IS NOT NULL AS is_failing,
            endpoint.failing_since IS NOT NULL OR endpoint.is_recovering AS is_paced,
            CASE
                WHEN endpoint.failing_since IS NOT NULL THEN 1 - coalesce(flying.number, 0)
                WHEN endpoint.is_recovering THEN least(1, %(in_flight)s - coalesce(flying.number, 0))
                ELSE %(in_flight)s - coalesce(flying.number, 0)
            END AS room
        FROM webhooks_endpoint AS endpoint LEFT JOIN flying ON flying.endpoint_id = endpoint.id
        WHERE endpoint.id = ANY(%(ready)s)
    ), turns AS (
        SELECT turn.*, ready.is_failing, ready.is_paced,
            row_number() OVER (PARTITION BY ready.is_failing ORDER BY turn.place, random()) AS number
        FROM ready CROSS JOIN LATERAL (
            SELECT waiting.id, row_number() OVER (ORDER BY waiting.next_attempt_at) AS place FROM (
                SELECT delivery.id, delivery.next_attempt_at FROM webhooks_delivery AS delivery
                WHERE delivery.endpoint_id = ready.id AND delivery.status = 'pending'
                    AND delivery.next_attempt_at <= %(now)s AND delivery.dispatcher IS NULL
                ORDER BY delivery.next_attempt_at LIMIT greatest(ready.room, 0)
                FOR NO KEY UPDATE SKIP LOCKED
            ) AS waiting
        ) AS turn
    ), picked AS (
        SELECT id, is_failing, is_paced FROM turns WHERE NOT is_failing OR number <= %(probes)s
        ORDER BY place, random() LIMIT %(limit)s
    )
    UPDATE webhooks_delivery AS delivery SET dispatcher = %(dispatcher)s, leased_until = %(leased_until)s
    FROM picked WHERE delivery.id = picked.id
    RETURNING delivery.id, delivery.endpoint_id, delivery.event_id, picked.is_failing, picked.is_paced
"""

_PACE = "UPDATE webhooks_endpoint SET next_claim_at = %s WHERE id = ANY(%s)"


def claim(dispatcher: int, *, limit: int, probes: int, now: datetime) -> list[Claim]:
    """Take up to `limit` deliveries that are due, at most `probes` of them to endpoints that have been failing."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_LOCK_READY, {"now": now, "in_flight": IN_FLIGHT_PER_ENDPOINT})
        ready = [key for (key,) in cursor.fetchall()]
        if not ready:
            return []
        cursor.execute(
            _CLAIM,
            {
                "ready": ready,
                "now": now,
                "in_flight": IN_FLIGHT_PER_ENDPOINT,
                "limit": limit,
                "probes": probes,
                "dispatcher": dispatcher,
                "leased_until": now + LEASE,
            },
        )
        rows = cursor.fetchall()
        if paced := [endpoint_id for _, endpoint_id, _, _, is_paced in rows if is_paced]:
            cursor.execute(_PACE, [now + PACE, paced])
        return [Claim(*row) for *row, _ in rows]
