"""Django's database engine for a transaction pooler: no setting it makes outlives a database transaction.

Limits cannot be given when a connection starts: the session behind it changes. They go before the first statement of
each database transaction, and before each statement that is one by itself, in the same round trip.

A pooler keeps its clients while the database is away, so whoever waits here looks for himself whether it answers.
"""

from __future__ import annotations

import re
import time
from functools import cache
from typing import Any, Final, Self

from django.conf import settings
from django.db.backends.postgresql import base
from psycopg import ClientCursor, OperationalError, sql
from psycopg import Connection as AnyConnection
from psycopg.abc import PQGen
from psycopg.pq import TransactionStatus

from config.database import sessions
from config.database.schema import SchemaEditor

PATIENCE_SECONDS: Final = 2.0
"""Time a statement waits for an answer before a probe checks whether the database answers at all."""
AWAY_SECONDS: Final = 1.0
"""Time without new connections after the database did not answer: statements queued up meanwhile are refused at
once."""

_REFUSED_IN_TRANSACTIONS = re.compile(
    r"\s*(VACUUM|(CREATE|DROP|ALTER)\s+(DATABASE|TABLESPACE)|"
    r"((CREATE|DROP)\s+(UNIQUE\s+)?INDEX|REINDEX\s+\w+)\s+CONCURRENTLY)\b",
    re.IGNORECASE,
)
_REFUSED_AFTER_A_QUERY = re.compile(r"\s*SET\s+TRANSACTION\b", re.IGNORECASE)

_away_until: dict[tuple[Any, Any], float] = {}
"""By host and port."""


def _place(parameters: dict[str, Any]) -> tuple[Any, Any]:
    return parameters.get("host"), parameters.get("port")


def _away(parameters: dict[str, Any]) -> dict[tuple[Any, Any], float]:
    return {_place(parameters): time.monotonic() + AWAY_SECONDS}


@cache
def _limits(*, by_query: bool) -> tuple[str, int]:
    """The statements that set the limits for one database transaction, and how many they are."""
    if by_query:
        values = ", ".join(f"set_config('{name}', '{value}', true)" for name, value in settings.DATABASE_LIMITS.items())
        return f"SELECT {values}; ", 1
    statements = [f"SET LOCAL {name} = '{value}'; " for name, value in settings.DATABASE_LIMITS.items()]
    return "".join(statements), len(statements)


class Cursor(ClientCursor[Any]):
    def execute(self, query: Any, params: Any = None, **options: Any) -> Self:
        is_first = self.connection.info.transaction_status == TransactionStatus.IDLE
        if not is_first or (isinstance(query, str) and _REFUSED_IN_TRANSACTIONS.match(query)):
            return super().execute(query, params, **options)
        limits, statements = _limits(by_query=not (isinstance(query, str) and _REFUSED_AFTER_A_QUERY.match(query)))
        if isinstance(query, bytes):
            query = limits.encode() + query
        elif isinstance(query, sql.Composable):
            query = sql.SQL(limits) + query
        else:
            query = limits + query
        super().execute(query, params, **options)
        for _ in range(statements):
            self.nextset()
        return self


class Connection(AnyConnection[Any]):
    """Gives up when no answer comes and the database does not answer others either."""

    parameters: dict[str, Any]

    def wait(self, gen: PQGen[Any], *args: Any, **options: Any) -> Any:
        return super().wait(self._while_it_answers(gen), *args, **options)

    def _while_it_answers(self, steps: PQGen[Any]) -> PQGen[Any]:
        global _away_until
        is_first = self.pgconn.transaction_status == TransactionStatus.IDLE
        look_at = time.monotonic() + PATIENCE_SECONDS
        try:
            wanted = next(steps)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > look_at:
                    if not self._is_anybody_answered(is_first=is_first):
                        _away_until |= _away(self.parameters)
                        self.close()
                        raise OperationalError("the database does not answer")
                    look_at = time.monotonic() + PATIENCE_SECONDS
                wanted = steps.send(ready)
        except StopIteration as done:
            return done.value

    def _is_anybody_answered(self, *, is_first: bool) -> bool:
        """True if the pooler takes a client, and the database a statement.

        Whoever is in a database transaction has a session: that others wait for one is no reason to give up.
        """
        direct = sessions.new_session().get_connection_params()
        try:
            with _Probe.reach(self.parameters) as probe:
                if is_first:
                    probe.execute("SELECT 1")
            if not is_first:
                with _Probe.reach(direct) as probe:
                    probe.execute("SELECT 1")
        except OperationalError:
            return False
        return True


class _Probe(Connection):
    @classmethod
    def reach(cls, parameters: dict[str, Any]) -> Self:
        own = {"connect_timeout": int(PATIENCE_SECONDS), "autocommit": True, "cursor_factory": ClientCursor}
        probe = cls.connect(**{**parameters, **own})
        probe.parameters = parameters
        return probe

    def _is_anybody_answered(self, *, is_first: bool) -> bool:
        return False


class DatabaseWrapper(base.DatabaseWrapper):
    SchemaEditorClass = SchemaEditor

    def get_connection_params(self) -> dict[str, Any]:
        return {**super().get_connection_params(), "cursor_factory": Cursor}

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        global _away_until
        begun = time.monotonic()
        if begun < _away_until.get(_place(conn_params), 0.0):
            raise OperationalError("the database did not answer a moment ago")
        try:
            connection = super().get_new_connection(conn_params)
        except OperationalError:
            if time.monotonic() - begun > PATIENCE_SECONDS:
                _away_until |= _away(conn_params)
            raise
        connection.__class__ = Connection
        connection.parameters = conn_params
        return connection
