"""Periodic tasks that have rows to work on: the others, beat sends only every few seconds."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable
from typing import Any, Final

from django.core.exceptions import EmptyResultSet
from django.db import DatabaseError, connection
from django.db.models import QuerySet

logger = logging.getLogger(__name__)

REST_SECONDS: Final = 10.0
"""The longest that a task without rows is not sent. It then finds any work its rows do not show."""

Rows = Callable[[], Iterable[QuerySet[Any]]]

_ROWS: dict[str, Rows] = {}


def rows_of(task: str) -> Callable[[Rows], Rows]:
    """Declare by which rows it is seen that a task has work; the function makes the queries anew at each look."""

    def declare(rows: Rows) -> Rows:
        _ROWS[task] = rows
        return rows

    return declare


def may_rest(task: str) -> bool:
    """True if a task has declared its rows. One that has not is always sent."""
    return task in _ROWS


def with_work() -> Collection[str]:
    """The names of the tasks that have rows, by one query; all of them when the database does not answer."""
    parts, parameters = [], []
    for task, rows in _ROWS.items():
        for queryset in rows():
            try:
                sql, values = queryset.order_by().query.exists().get_compiler("default").as_sql()
            except EmptyResultSet:
                continue
            parts.append(f"SELECT %s WHERE EXISTS ({sql})")
            parameters += [task, *values]
    try:
        with connection.cursor() as cursor:
            cursor.execute(" UNION ALL ".join(parts), parameters)
            return {name for [name] in cursor.fetchall()}
    except DatabaseError as error:
        logger.warning("work_that_is_due_not_known", extra={"error": str(error)})
        connection.close()
        return _ROWS.keys()
