"""Work that one process does at a time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

from config.database.advisory_locks import LockClass
from config.periodic.beat import ElectedScheduler
from config.periodic.beat_lock import heartbeat_age_seconds
from tests.patience import until


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


def end_beats(*beats: ElectedScheduler) -> None:
    """Close them, and return when PostgreSQL has seen the end of their sessions: none leads or ticks any more."""

    def none_ticks() -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_clear_snapshot()")  # within a transaction it would show the same for ever
        return heartbeat_age_seconds() is None

    for beat in beats:
        beat.close()
    until(none_ticks)
