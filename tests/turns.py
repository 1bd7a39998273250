"""Pieces of work that one worker does at a time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from django.db import connection


def beside_another(work: Callable[[], int], lock: tuple[int, int]) -> tuple[int, int]:
    """What the work answers while another session has the turn to do it, and after that."""

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
