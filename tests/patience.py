"""Waiting in tests, and limits of time that must not come into one: a machine busy with others takes longer than any.

They end work halfway that waits for a slow world. Tests of a limit set it themselves, and move a clock of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from threading import Thread

import redis
from django.db import connection

SECONDS = 120.0


def until(condition: Callable[[], bool], seconds: float = SECONDS) -> None:
    """Wait for what other threads, processes or servers bring about; an AssertionError when it does not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came to pass"
        time.sleep(0.01)


def waits_for_lock() -> bool:
    """True while a session of this database waits for a lock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
        return cursor.fetchone() is not None


connect_as_ballast_does = redis.connection.AbstractConnection.connect
"""With half a second of patience at most, and 50 ms where requests are counted."""


def _connect(server: redis.connection.AbstractConnection) -> None:
    server.socket_timeout = server.socket_connect_timeout = SECONDS
    connect_as_ballast_does(server)  # type: ignore[no-untyped-call]  # the package has no types for it


def wait_for_redis() -> None:
    redis.connection.AbstractConnection.connect = _connect  # type: ignore[method-assign]


def _look_here(look: Thread) -> None:
    """In the thread of the test, whose database transaction no other sees."""
    from config.health import _Look

    assert isinstance(look, _Look)
    look.find(look)
    look.is_looking = False


def wait_for_everything() -> None:
    from config.health import _Look
    from payments.chains.providers import wire
    from tests.evm.network import node

    _Look.start = _look_here  # type: ignore[assignment, method-assign]
    _Look.join = lambda *_: None  # type: ignore[method-assign]
    from payments.transfers.execution import executor, rounds

    wait_for_redis()
    for module, name in ((executor, "RUN"), (rounds, "ROUND_MAX")):
        setattr(module, name, timedelta(hours=1))
    for module, name in ((node, "START_SECONDS"), (wire, "CONNECT_SECONDS")):
        setattr(module, name, SECONDS)
