"""Times of the last run of each piece of periodic work, and the clock offset of each process.

Every instant is by the database's clock, so a process whose clock is wrong can be found and hides nothing. Plain SQL,
because every layer notes its work here; the table is that of `payments.monitoring.models.Pulse`.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Iterable
from typing import Final

from django.conf import settings
from django.db import connection
from django.utils import timezone

logger = logging.getLogger(__name__)

TASK, WATCHER, DISPATCHER, WALLETS, CLOCK, BEGAN = (
    "task", "watcher", "dispatcher", "wallets", "clock", "began",
)  # fmt: skip

NOTE_EVERY_SECONDS: Final = 5.0
"""A process notes the same work no sooner again; what is late by less than a minute is not looked at."""
CLOCK_EVERY_SECONDS: Final = 10.0
CLOCK_OFF_SECONDS: Final = 5.0
"""A clock that is this far from the database's is an alarm."""

_NOTE: Final = """
    INSERT INTO operations_pulse (kind, subject, at) VALUES (%s, %s, clock_timestamp())
    ON CONFLICT (kind, subject) DO UPDATE SET at = clock_timestamp()
    WHERE operations_pulse.at NOT BETWEEN clock_timestamp() - interval '1 second' AND clock_timestamp()
"""
_NOTE_BEGAN: Final = """
    INSERT INTO operations_pulse (kind, subject, at) VALUES (%s, '', clock_timestamp()) ON CONFLICT DO NOTHING
"""
_NOTE_CLOCK: Final = """
    INSERT INTO operations_pulse (kind, subject, at, ahead_seconds) VALUES (%s, %s, clock_timestamp(), %s)
    ON CONFLICT (kind, subject) DO UPDATE SET at = clock_timestamp(), ahead_seconds = excluded.ahead_seconds
"""
_AGES: Final = """
    SELECT subject, greatest(0, extract(epoch FROM clock_timestamp() - at)) FROM operations_pulse WHERE kind = ANY(%s)
"""

_clock_due_at = 0.0
_noted_at: dict[tuple[str, str], float] = {}


def note(kind: str, subject: str = "") -> None:
    """Note that this was done just now. Never inside a database transaction: others would wait for its end."""
    global _noted_at
    now = time.monotonic()
    if now - _noted_at.get((kind, subject), float("-inf")) < NOTE_EVERY_SECONDS:
        return
    with connection.cursor() as cursor:
        cursor.execute(_NOTE, [kind, subject])
    _noted_at = {**_noted_at, (kind, subject): now}


def ages(tasks: Iterable[str]) -> dict[str, float]:
    """Return how many seconds ago each task last ended well, or, if it never did, any process first began."""
    with connection.cursor() as cursor:
        cursor.execute(_AGES, [[TASK, BEGAN]])
        found = {subject: float(seconds) for subject, seconds in cursor.fetchall()}
    return {task: found.get(task, found.get("", 0.0)) for task in tasks}


def note_clock(process: str, *, at_once: bool = False) -> None:
    """Write down how far this process's clock is ahead of the database's; every few seconds at most."""
    global _clock_due_at
    if not at_once and time.monotonic() < _clock_due_at:
        return
    _clock_due_at = time.monotonic() + CLOCK_EVERY_SECONDS
    with connection.cursor() as cursor:
        sent_at = timezone.now().timestamp()
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())")
        [theirs] = cursor.fetchone() or [sent_at]
        answered_at = timezone.now().timestamp()
        if answered_at - sent_at > CLOCK_OFF_SECONDS / 2:
            return  # too slow a reply to compare clocks
        ahead = (sent_at + answered_at) / 2 - float(theirs)
        subject = f"{settings.BALLAST_ROLE} {process} {socket.gethostname()}:{os.getpid()}"
        cursor.execute(_NOTE_BEGAN, [BEGAN])
        cursor.execute(_NOTE_CLOCK, [CLOCK, subject[:100], ahead])
    if abs(ahead) > CLOCK_OFF_SECONDS:
        logger.error("clock_is_off", extra={"whose": subject, "ahead_seconds": round(ahead, 1)})
