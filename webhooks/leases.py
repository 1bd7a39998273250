"""Who is sending what just now. A dispatcher is alive as long as its database session holds its advisory lock."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import connection

LEASE = timedelta(seconds=30)
"""Longer than any attempt. A dispatcher that was killed loses its claims at once, with its session."""

LOCK_CLASS = 0x77686B
"""Advisory locks of dispatchers: (this class, the dispatcher's number)."""

_RELEASE_OWN = """
    UPDATE webhooks_delivery SET dispatcher = NULL, leased_until = NULL
    WHERE dispatcher = %s AND id <> ALL(%s::uuid[])
"""

_RELEASE_ABANDONED = """
    WITH alive AS (
        SELECT objid::bigint AS dispatcher FROM pg_locks
        WHERE locktype = 'advisory' AND classid = %s AND objsubid = 2 AND granted
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    ), abandoned AS (
        SELECT id FROM webhooks_delivery
        WHERE dispatcher IS NOT NULL AND (leased_until <= %s OR dispatcher NOT IN (SELECT dispatcher FROM alive))
        FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE webhooks_delivery SET dispatcher = NULL, leased_until = NULL WHERE id IN (SELECT id FROM abandoned)
"""


def hold_number(number: int) -> bool:
    """Take this dispatcher's number for as long as the database session lives; False when another session has it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [LOCK_CLASS, number])
        [held] = cursor.fetchone() or [False]
        return bool(held)


def release_own(number: int, *, keep: Collection[uuid.UUID] = ()) -> int:
    """Give back what this dispatcher claimed, but for what it keeps; answers how many deliveries."""
    with connection.cursor() as cursor:
        cursor.execute(_RELEASE_OWN, [number, list(keep)])
        return int(cursor.rowcount)


def release_abandoned(now: datetime) -> int:
    """Free what dispatchers that are no more had claimed; answers how many deliveries."""
    with connection.cursor() as cursor:
        cursor.execute(_RELEASE_ABANDONED, [LOCK_CLASS, now])
        return int(cursor.rowcount)
