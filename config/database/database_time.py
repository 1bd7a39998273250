"""The time of the database: the one clock that all processes share."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.core.exceptions import ImproperlyConfigured
from django.db import Error, connection
from django.db.models import Q

CLOCKS_APART = timedelta(minutes=1)
"""By so much the clocks of processes, of the database and of a network may differ without anything following of it."""


def database_now() -> datetime:
    """The time now, by PostgreSQL's clock; it goes on within a database transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        [now] = cursor.fetchone() or [None]
    assert isinstance(now, datetime)  # noqa: S101 - narrows the type
    return now


def best_known_now() -> datetime:
    """The time now by PostgreSQL's clock; by this machine's where no database answers, as for some commands."""
    try:
        return database_now()
    except (Error, ImproperlyConfigured):
        return datetime.now(UTC)


def has_come(field: str, now: datetime, *, longest: timedelta) -> Q:
    """Rows whose time has come, where nobody ever puts one off by more than `longest`.

    One that lies further ahead was written by a clock that has been set back since: it is not waited for.
    """
    return Q(**{f"{field}__lte": now}) | Q(**{f"{field}__gt": now + longest + CLOCKS_APART})
