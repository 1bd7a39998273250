"""Rows that many tests begin with: services make them once, and the next tests get copies of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar, cast

from django.db import connection, transaction

MAX_AGE_SECONDS = 120
"""Older rows are made anew: windows that end and limits by the hour must not come nearer because a file is long."""

Contents = dict[str, str]
"""Every table that has rows, with all of them as an expression of SQL: `VALUES ('(…)'::table), …`."""

P = ParamSpec("P")
T = TypeVar("T")


@dataclass
class World:
    """What a call left behind."""

    asked: tuple[Any, Any]
    made_at: float
    before: Contents
    result: Any
    script: str

    def is_fresh(self) -> bool:
        return time.monotonic() - self.made_at < MAX_AGE_SECONDS


def populated_once(populate: Callable[P, T]) -> Callable[P, T]:
    """A function whose first call populates the database, and whose later calls write the same rows again.

    For what a test or a fixture (below `@pytest.fixture`) begins with. Other arguments, or other rows in the database
    before, populate anew. What the function returns is copied for each caller.
    """
    worlds: list[World] = []

    @wraps(populate)
    def restore(*args: P.args, **kwargs: P.kwargs) -> T:
        worlds[:] = filter(World.is_fresh, worlds)
        before = _contents()
        for world in worlds:
            if (world.asked, world.before) == ((args, kwargs), before):
                _run(world.script)
                return cast(T, deepcopy(world.result))
        result = populate(*args, **kwargs)
        after = _contents()
        worlds.append(World((args, kwargs), time.monotonic(), before, deepcopy(result), _script(before, after)))
        return result

    return restore


@cache
def _tables() -> list[str]:
    with connection.cursor() as cursor:
        return connection.introspection.table_names(cursor)


_committed: tuple[str, Contents] | None = None
"""What the tests of a file find when they begin: the file, and the rows."""


def forget_committed() -> None:
    global _committed
    _committed = None


def _contents() -> Contents:
    """All rows. Asking every table costs more than most tests do, so what a file's tests begin with is asked once."""
    global _committed
    if not _has_written():
        file = os.environ["PYTEST_CURRENT_TEST"].partition("::")[0]
        if _committed is None or _committed[0] != file:
            _committed = file, _read()
        return _committed[1]
    return _read()


def _has_written() -> bool:
    """Whether this test may have written anything: one without a transaction of its own may have."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_xact_id_if_assigned() IS NOT NULL")
        [[has_written]] = cursor.fetchall()
    return has_written or not connection.in_atomic_block


def _read() -> Contents:
    with connection.cursor() as cursor:
        cursor.execute(
            " UNION ALL ".join(f"SELECT '{table}' WHERE EXISTS (SELECT FROM {table})" for table in _tables())  # noqa: S608
        )
        return {table: _rows(table) for (table,) in cursor.fetchall()}


def _rows(table: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT string_agg(format('(%L::{table})', each::text), ',' ORDER BY each::text) FROM {table} AS each"  # noqa: S608
        )
        [[rows]] = cursor.fetchall()
    return f"VALUES {rows}"


def _script(before: Contents, after: Contents) -> str:
    """All tables in one script. Triggers and foreign keys are asleep: they had their say when services wrote it."""
    steps = ["SET LOCAL session_replication_role = replica"]
    for table in sorted(before | after):
        if before.get(table) != after.get(table):
            if table in before:
                steps.append(f"DELETE FROM {table}")  # noqa: S608
            if table in after:
                steps.append(f"INSERT INTO {table} SELECT (each).* FROM ({after[table]}) AS rows (each)")  # noqa: S608
    return ";\n".join([*steps, "SET LOCAL session_replication_role = origin"])


def _run(script: str) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(script)
