"""Whether beat is alive. Each of its ticks is a query on the connection that holds its lock."""

from __future__ import annotations

from django.db import connection

HEARTBEAT_NAME = "ballast-beat"
"""What pg_stat_activity calls the connection of the elected beat."""

HEARTBEAT_MAX_SECONDS = 15.0
"""A beat that has not ticked for longer is behind."""


def heartbeat_age_seconds() -> float | None:
    """How long ago the elected beat last ticked; None when no beat is running."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select extract(epoch from clock_timestamp() - max(query_start)) from pg_stat_activity"
            " where application_name = %s and datname = current_database()",
            [HEARTBEAT_NAME],
        )
        [age] = cursor.fetchone() or [None]
    return None if age is None else float(age)
