"""Django's database engine for a transaction pooler: no setting it makes outlives a database transaction.

Limits cannot be given when a connection starts: the session behind it changes. They go before the first statement of
each database transaction, and before each statement that is one by itself, in the same round trip.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Self

from django.conf import settings
from django.db.backends.postgresql import base
from psycopg import ClientCursor, sql
from psycopg.pq import TransactionStatus

_REFUSED_IN_TRANSACTIONS = re.compile(
    r"\s*(VACUUM|((CREATE|DROP|ALTER)\s+(DATABASE|TABLESPACE))|((CREATE|DROP|RE)\s*INDEX\s+CONCURRENTLY))\b",
    re.IGNORECASE,
)


@cache
def _limits() -> tuple[str, int]:
    """The statements that set the limits for one database transaction, and how many they are."""
    statements = [f"SET LOCAL {name} = '{value}'; " for name, value in settings.DATABASE_LIMITS.items()]
    return "".join(statements), len(statements)


class Cursor(ClientCursor[Any]):
    def execute(self, query: Any, params: Any = None, **options: Any) -> Self:
        is_first = self.connection.info.transaction_status == TransactionStatus.IDLE
        if not is_first or (isinstance(query, str) and _REFUSED_IN_TRANSACTIONS.match(query)):
            return super().execute(query, params, **options)
        limits, statements = _limits()
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


class DatabaseWrapper(base.DatabaseWrapper):
    def get_connection_params(self) -> dict[str, Any]:
        return {**super().get_connection_params(), "cursor_factory": Cursor}
