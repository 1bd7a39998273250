"""Leases of endpoints by dispatchers. A dispatcher is alive as long as its database session holds its advisory lock."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import connection

from config.database.advisory_locks import LockClass
from webhooks.models import EndpointLease

LEASE = timedelta(seconds=30)
"""Longer than any attempt. A dispatcher that was killed loses its leases at once, with its session."""

RENEW_AFTER = timedelta(seconds=5)

_RELEASE_ABANDONED = """
    WITH alive AS (
        SELECT objid::bigint AS dispatcher FROM pg_locks
        WHERE locktype = 'advisory' AND classid = %s AND objsubid = 2 AND granted
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    )
    DELETE FROM webhooks_endpointlease WHERE endpoint_id IN (
        SELECT endpoint_id FROM webhooks_endpointlease
        WHERE until <= %s OR dispatcher NOT IN (SELECT dispatcher FROM alive)
        FOR UPDATE SKIP LOCKED
    )
"""


def hold_number(number: int) -> bool:
    """Take this dispatcher's number for as long as the database session lives; False when another session has it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [LockClass.DISPATCHER, number])
        [held] = cursor.fetchone() or [False]
        return bool(held)


def release_own(number: int, *, keep: Collection[uuid.UUID] = ()) -> int:
    """Give back this dispatcher's endpoints, except those in `keep`; returns how many."""
    released, _ = EndpointLease.objects.filter(dispatcher=number).exclude(pk__in=keep).delete()
    return released


def release_abandoned(now: datetime) -> int:
    """Free the endpoints of dispatchers that have ended; returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(_RELEASE_ABANDONED, [LockClass.DISPATCHER, now])
        return int(cursor.rowcount)
