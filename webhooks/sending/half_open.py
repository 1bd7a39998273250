"""Recovery of an endpoint: once it succeeds again its backlog is due at once, oldest first, until all of it is sent."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.db import connection

from webhooks.schedule import ATTEMPTS

RELEASED_AT_ONCE = 10_000
"""Deliveries of one endpoint in one database transaction. The next follow when these have been sent."""

# What was due already is sorted in with the rest. A try before its time does not count as one of the schedule's, so a
# delivery that fails while others succeed keeps its days; there is at most one early try for each of the schedule's.
_RELEASE = """
    WITH backlog AS (
        SELECT delivery.id, row_number() OVER (PARTITION BY delivery.endpoint_id ORDER BY delivery.event_id) AS place
        FROM unnest(%(keys)s::uuid[]) AS endpoint (id) CROSS JOIN LATERAL (
            SELECT waiting.id, waiting.endpoint_id, waiting.event_id FROM webhooks_delivery AS waiting
            WHERE waiting.endpoint_id = endpoint.id AND waiting.status = 'pending'
                AND (waiting.next_attempt_at <= %(now)s OR waiting.early_tries < %(attempts)s - waiting.attempts_left)
            ORDER BY waiting.event_id LIMIT %(limit)s
        ) AS delivery
        WHERE endpoint.id = ANY(%(back)s::uuid[]) OR NOT EXISTS (
            SELECT FROM webhooks_delivery AS due
            WHERE due.endpoint_id = endpoint.id AND due.status = 'pending' AND due.next_attempt_at <= %(now)s
        )
    )
    UPDATE webhooks_delivery AS delivery SET
        next_attempt_at = %(now)s - (%(limit)s - backlog.place) * interval '1 microsecond',
        attempts_left = delivery.attempts_left + (delivery.next_attempt_at > %(now)s)::int,
        early_tries = delivery.early_tries + (delivery.next_attempt_at > %(now)s)::int
    FROM backlog WHERE delivery.id = backlog.id
"""

_END_RECOVERY = """
    UPDATE webhooks_endpoint AS endpoint SET is_recovering = false
    WHERE endpoint.id = ANY(%(keys)s::uuid[]) AND endpoint.is_recovering AND NOT EXISTS (
        SELECT FROM webhooks_delivery AS due
        WHERE due.endpoint_id = endpoint.id AND due.status = 'pending' AND due.next_attempt_at <= %(now)s
    )
"""


def go_on(back: Collection[uuid.UUID], recovering: Collection[uuid.UUID], *, now: datetime) -> None:
    """Make the backlog due of endpoints that are `back`, and more of it of `recovering` ones that have nothing due.

    A recovery ends when nothing is left. The caller has locked the endpoints, and none of them is failing.
    """
    parameters: dict[str, Any] = {
        "keys": list({*back, *recovering}),
        "back": list(back),
        "now": now,
        "attempts": ATTEMPTS,
        "limit": RELEASED_AT_ONCE,
    }
    if parameters["keys"]:
        with connection.cursor() as cursor:
            cursor.execute(_RELEASE, parameters)
            cursor.execute(_END_RECOVERY, {"keys": list(recovering), "now": now})
