"""Advisory locks of PostgreSQL: one process at a time does a piece of work, and the others do not wait for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from enum import IntEnum, unique
from zlib import crc32

from django.db import connection

from config.database.sessions import session_of_thread


@unique
class LockClass(IntEnum):
    """The first number of every lock that has two: no two kinds of work may share one."""

    TASK = 0x7461736B
    """Pieces of work that have a name."""
    WALLET = 0x776C6C74
    """Then the wallet's key."""
    DISPATCHER = 0x77686B
    """Then the dispatcher's number. Whoever holds one counts as a dispatcher that is alive."""
    BELOW_FINALITY = 0x62666E6C
    """Then a network of an environment: whoever credits there what is not final."""


def named_lock(name: str) -> AbstractContextManager[bool]:
    """The lock on the work of this name, as `advisory_lock`: a slow network then blocks one thread, not all of them."""
    return advisory_lock(LockClass.TASK, crc32(name.encode()) & 0x7FFFFFFF)


def lock_until_commit(kind: LockClass, number: int) -> None:
    """Wait for the lock (`kind`, `number`) and hold it until the end of the database transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [kind, number])


@contextmanager
def advisory_lock(kind: LockClass, number: int) -> Iterator[bool]:
    """Holds the lock (`kind`, `number`) inside the block, and yields True; False when another session has it.

    It ends with the database session at the latest, so a worker that dies blocks nobody.
    """
    session = session_of_thread()
    with session.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [kind, number])
        [is_ours] = cursor.fetchone() or [False]
    try:
        yield bool(is_ours)
    finally:
        if is_ours and session.connection is not None and not session.needs_rollback:
            with session.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [kind, number])
