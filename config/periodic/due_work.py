"""Periodic tasks that have rows to work on: the others, beat sends only every few seconds."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from django.core.exceptions import EmptyResultSet
from django.db import DatabaseError, connection
from django.db.models import QuerySet
from django.utils import timezone

logger = logging.getLogger(__name__)

REST_SECONDS: Final = 10.0
"""The longest that a task without rows is not sent. It then finds any work its rows do not show."""

LONGEST_REST_SECONDS: Final = 40.0
"""The same once no task has had rows for twice as long. `payments.monitoring.work` allows the dispatcher 60 seconds."""

KEPT: Final = timedelta(minutes=1)
"""How long the query is kept: which networks are in use, for one, may change."""

Rows = Callable[[], Iterable[QuerySet[Any]]]

_ROWS: dict[str, Rows] = {}
_UNCERTAIN: set[str] = set()


class _Built(NamedTuple):
    """The query as it was built `at` a time, from which every time in its parameters counts."""

    at: datetime
    sql: str
    parameters: list[Any]


_built: _Built | None = None


def rows_of(task: str, *, is_certain: bool = True) -> Callable[[Rows], Rows]:
    """Declare by which rows it is seen that a task has work; any time in its queries must count from now.

    A queryset that is cut off is read in its order: where most rows are like those that are due but for one column, an
    order that only one index has keeps PostgreSQL from reading them all.

    Rows that are not certain, such as dust that no sweep takes, may stay for ever: a task with those rests longer, the
    longer no other has any.
    """

    def declare(rows: Rows) -> Rows:
        _ROWS[task] = rows
        if not is_certain:
            _UNCERTAIN.add(task)
        return rows

    return declare


def may_rest(task: str) -> bool:
    """True if a task has declared its rows. One that has not is always sent."""
    return task in _ROWS


def is_certain(task: str) -> bool:
    """True if the rows of a task are work that is due."""
    return task not in _UNCERTAIN


def rest_seconds(least: float, *, quiet_seconds: float) -> float:
    """Return how long a task is not sent again when no task has had certain work for so long: half of that, at most
    LONGEST_REST_SECONDS."""
    return max(least, min(quiet_seconds / 2, LONGEST_REST_SECONDS))


def with_work() -> Collection[str]:
    """The names of the tasks that have rows, by one query; all of them when the database does not answer."""
    sql, parameters = _query()
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            return {name for [name] in cursor.fetchall()}
    except DatabaseError as error:
        logger.warning("work_that_is_due_not_known", extra={"error": str(error)})
        connection.close()
        return _ROWS.keys()


def _query() -> tuple[str, list[Any]]:
    """The query of `with_work`, with its times moved on to now.

    Building it takes several times as long as the database takes to answer, so it is kept for a while.
    """
    global _built
    now = timezone.now()
    if _built is None or not timedelta() <= now - _built.at < KEPT:
        _built = _Built(now, *_build())
    passed = now - _built.at
    return _built.sql, [each + passed if isinstance(each, datetime) else each for each in _built.parameters]


def _build() -> tuple[str, list[Any]]:
    parts, parameters = [], []
    for task, rows in _ROWS.items():
        for queryset in rows():
            try:
                first = queryset if queryset.query.is_sliced else queryset.order_by()[:1]
                sql, values = first.values("pk").query.get_compiler("default").as_sql()
            except EmptyResultSet:
                continue
            # Not EXISTS, of which Django and PostgreSQL leave out the order.
            parts.append(f"SELECT %s FROM ({sql}) AS row")  # noqa: S608 - written by Django
            parameters += [task, *values]
    return " UNION ALL ".join(parts), parameters
