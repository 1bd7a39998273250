"""The dispatcher's own statements: several of them are sent at once, and each is planned for the rows there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.db import connection
from psycopg import Cursor

Send = Callable[[str, Mapping[str, object]], Cursor[Any]]


@contextmanager
def together() -> Iterator[Send]:
    """What is sent inside goes to the database without waiting for answers; they are there when the block has ended."""
    connection.ensure_connection()
    session = connection.connection

    def send(statement: str, parameters: Mapping[str, object]) -> Cursor[Any]:
        # Never prepared: a plan from when nothing was due would read whole tables once much is.
        return Cursor(session).execute(statement, parameters, prepare=False)

    with connection.wrap_database_errors, session.pipeline():
        yield send
