"""Pieces of work that one worker does at a time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

from config.database.advisory_locks import LockClass


def holders(kind: LockClass, number: int | None = None, *, on: BaseDatabaseWrapper | None = None) -> list[int]:
    """The process ids of the sessions that hold locks of this kind in our database, only lock `number` if given.

    pg_locks is of the whole server, on which other workers' databases are.
    """
    with (on or connection).cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND granted AND classid = %s"
            " AND objid = coalesce(%s, objid) AND database = (SELECT oid FROM pg_database"
            " WHERE datname = current_database())",
            [kind, number],
        )
        return [pid for [pid] in cursor.fetchall()]


def beside_another(work: Callable[[], int], lock: tuple[LockClass, int]) -> tuple[int, int]:
    """What the work returns while another session holds its lock, and after that."""

    def alone() -> int:
        try:
            return work()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool, connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s, %s)", lock)
        meanwhile = pool.submit(alone).result()
        cursor.execute("SELECT pg_advisory_unlock(%s, %s)", lock)
        return meanwhile, pool.submit(alone).result()
