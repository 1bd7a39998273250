"""Statements of the dispatcher: several in one round trip, each planned for the rows there are now."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.db import connection
from psycopg import Cursor

Send = Callable[[str, Mapping[str, object]], Cursor[Any]]


@contextmanager
def pipeline() -> Iterator[Send]:
    """Send statements without waiting for each result; the results can be read once the block has ended."""
    connection.ensure_connection()
    session = connection.connection

    def send(statement: str, parameters: Mapping[str, object]) -> Cursor[Any]:
        # Never prepared: a plan made while nothing was due would read whole tables once much is due.
        return Cursor(session).execute(statement, parameters, prepare=False)

    with connection.wrap_database_errors, session.pipeline():
        yield send
