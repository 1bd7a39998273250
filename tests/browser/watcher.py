"""The worker's share of the work, done in a thread beside the browser: blocks are read and payments assessed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from payments import tasks

ROUND_SECONDS = 0.1


@contextmanager
def watching() -> Iterator[None]:
    stop = threading.Event()
    failures: list[BaseException] = []

    def work() -> None:
        try:
            while not stop.wait(ROUND_SECONDS):
                tasks.watch_networks()
                tasks.expire_due()
        except BaseException as failure:
            failures.append(failure)
        finally:
            connection.close()

    thread = threading.Thread(target=work, name="watcher", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(timeout=120)
    if failures:
        raise failures[0]
