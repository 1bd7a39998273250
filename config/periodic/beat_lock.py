"""Lock and ticks of beat. Each of its ticks is a query on the connection that holds its lock."""

from __future__ import annotations

from django.db import connection

TICK = """
    select set_config(
        'application_name', 'ballast-beat ' || floor(1000 * extract(epoch from clock_timestamp()))::bigint, false
    )
"""
"""Names the connection of the elected beat after the time: pg_stat_activity shows every role the names of sessions, and
the time of their last query only to those who have its role."""

_LAST_TICK = """
    select extract(epoch from clock_timestamp())
        - max(substring(application_name from '^ballast-beat ([0-9]{1,15})$')::bigint) / 1000.0
    from pg_stat_activity where datname = current_database()
"""

HEARTBEAT_MAX_SECONDS = 15.0
"""A beat that has not ticked for longer is behind."""


def heartbeat_age_seconds() -> float | None:
    """Age of the elected beat's last tick; None when no beat is running."""
    with connection.cursor() as cursor:
        cursor.execute(_LAST_TICK)
        [age] = cursor.fetchone() or [None]
    return None if age is None else float(age)
