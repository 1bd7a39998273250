"""Statements of the busiest paths: their SQL is made once, and PostgreSQL plans it once for each connection."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from functools import cache, cached_property
from itertools import count
from typing import Any, Generic, TypeVar

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, NotSupportedError, connections
from django.db.backends.postgresql.base import ServerBindingCursor
from django.db.models import Model, QuerySet
from psycopg import Cursor, RawCursor
from psycopg.errors import FeatureNotSupported

from config.database.replica import read_alias

Found = TypeVar("Found", bound=Model)


def rows(
    sql: str,
    parameters: Sequence[Any] | Mapping[str, Any],
    *,
    is_planned_once: bool = True,
    is_binary: bool = False,
) -> list[tuple[Any, ...]]:
    """The rows of a SELECT, read where the ORM would read them. One whose best plan depends on its parameters is not
    planned once.

    Columns that are all keys, numbers, text or bytes, or arrays of them, may come in PostgreSQL's binary form, which
    takes half the time to read.
    """
    alias = read_alias()
    if (own := _open(alias)) is None:
        return _whole(alias, sql, parameters)
    try:
        with own.wrap_database_errors, Cursor(own.connection) as cursor:
            return cursor.execute(sql, parameters, prepare=is_planned_once, binary=is_binary).fetchall()
    except NotSupportedError as error:
        if own.in_atomic_block or not _has_outdated_plan(error):
            raise
        return _whole(alias, sql, parameters)


def execute(sql: str, parameters: Sequence[Any]) -> None:
    """Run what returns nothing. A number is sent as text: the plan is that of its column, however large it is."""
    if (own := _open(DEFAULT_DB_ALIAS)) is None:
        with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
            cursor.execute(sql, parameters)
        return
    texts = [str(each) if type(each) is int else each for each in parameters]
    with own.wrap_database_errors, RawCursor(own.connection) as raw:
        raw.execute(_numbered(sql), texts, prepare=True)


@contextmanager
def repeated() -> Iterator[None]:
    """Have statements of the ORM inside planned once for each connection, from their sixth run on.

    For work that is done again and again by the same statements. After a rollback all of them are planned anew, and so
    are those whose plan an upgrade has made invalid.
    """
    own = connections[DEFAULT_DB_ALIAS]
    if settings.BEHIND_TRANSACTION_POOLER:
        yield
        return
    own.ensure_connection()
    session: Any = own.connection
    before, session.cursor_factory = session.cursor_factory, ServerBindingCursor
    try:
        yield
    finally:
        session.cursor_factory = before


class KeptQuery(Generic[Found]):
    """A query of models by some values, whose SQL the ORM writes once: for a payment with its merchant it takes several
    times as long to write as to run.

    `marks` stand for the values while it is written, so that nothing else in it may equal one of them.
    `is_planned_once` is for rows by a unique key: each connection plans it once, and again after an ANALYZE of its
    tables. Until then the plan is one for tables as small as they were.
    """

    def __init__(self, query: Callable[..., QuerySet[Found]], *marks: Hashable, is_planned_once: bool = False) -> None:
        self._query, self._marks, self._is_planned_once = query, marks, is_planned_once

    def found(self, *values: Any) -> list[Found]:
        """The models by these values, in the order of the marks."""
        if not self._is_planned_once:
            return self._found(values)
        try:
            with repeated():
                return self._found(values)
        except NotSupportedError as error:
            if connections[DEFAULT_DB_ALIAS].in_atomic_block or not _has_outdated_plan(error):
                raise
        return self._found(values)

    def _found(self, values: Sequence[Any]) -> list[Found]:
        query, written, sql, parameters = self._written
        value_of = dict(zip(self._marks, values, strict=True))
        models = query.all()
        compiler: Any = copy(written)
        compiler.connection = connections[models.db]
        compiler.as_sql = lambda: (sql, [value_of.get(each, each) for each in parameters])
        models.query.get_compiler = lambda using: compiler  # type: ignore[method-assign, assignment, misc]
        return list(models)

    @cached_property
    def _written(self) -> tuple[QuerySet[Found], Any, str, Sequence[Any]]:
        query = self._query(*self._marks)
        compiler = query.query.get_compiler(query.db)
        return query, compiler, *compiler.as_sql()


def _has_outdated_plan(error: NotSupportedError) -> bool:
    """True if an upgrade has changed the type of a column below a plan, which PostgreSQL then refuses."""
    return isinstance(error.__cause__, FeatureNotSupported)


@cache
def _numbered(sql: str) -> bytes:
    """The SQL with `$1` for its first `%s`, and so on, as PostgreSQL has it: psycopg would do it each time."""
    numbers = count(1)
    return re.sub("%s", lambda _: f"${next(numbers)}", sql).encode()


def _open(alias: str) -> Any:
    """The open connection; None behind a pooler of transactions, which lends another session each time, and where
    somebody watches statements."""
    own = connections[alias]
    if settings.BEHIND_TRANSACTION_POOLER or own.queries_logged or own.execute_wrappers:
        return None
    own.close_if_health_check_failed()
    own.ensure_connection()
    own.validate_no_broken_transaction()
    return own


def _whole(alias: str, sql: str, parameters: Sequence[Any] | Mapping[str, Any]) -> list[tuple[Any, ...]]:
    with connections[alias].cursor() as cursor:
        cursor.execute(sql, parameters)
        return list(cursor.fetchall())
