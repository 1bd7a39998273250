"""Taking turns at a piece of work across processes, by advisory locks of PostgreSQL. Nobody waits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from zlib import crc32

from config.sessions import session_of_thread

TASK = 0x7461736B
"""Turns at pieces of work that go by a name."""


def turn_at(name: str) -> AbstractContextManager[bool]:
    """Be the only one at work on what goes by this name: so what a slow network holds up takes one thread, not all."""
    return turn(TASK, crc32(name.encode()) & 0x7FFFFFFF)


@contextmanager
def turn(kind: int, number: int) -> Iterator[bool]:
    """Be the only one at work on this; False when somebody else is. `kind` says whose numbers these are.

    It ends with the database session at the latest, so that a worker that dies holds up nobody.
    """
    connection = session_of_thread()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [kind, number])
        [is_ours] = cursor.fetchone() or [False]
    try:
        yield bool(is_ours)
    finally:
        if is_ours and connection.connection is not None and not connection.needs_rollback:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [kind, number])
