"""A beat that may run on several machines: one schedules, and another takes over when it dies."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

from celery.beat import ScheduleEntry, Scheduler
from django.conf import settings
from django.db import DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from config.celery import queue_of
from config.database.sessions import SessionShared, new_session, require_own_session
from config.periodic import due_work, task_runs
from config.periodic.beat_lock import TICK
from config.periodic.liveness import note_alive
from config.periodic.queued_tasks import is_waiting

logger = logging.getLogger(__name__)

LOCK = 0x42616C6C61737401
"""The advisory lock of the one beat that schedules; PostgreSQL frees it when the connection of its holder ends."""

STANDBY_SECONDS = 2.0
LOOK_SECONDS = 0.5
"""So long the answer holds which tasks have rows to work on."""

EARLY_SECONDS = 0.5
"""A rest ends so much sooner, so that one as long as a task's interval does not skip every second run."""


class ElectedScheduler(Scheduler):  # type: ignore[misc]  # Celery has no types
    """Schedules only while it holds the lock, which it checks on every tick with a query."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._connection: BaseDatabaseWrapper | None = None
        self._sent_at: dict[str, float] = {}
        self._with_work: Collection[str] = ()
        self._looked_at = float("-inf")
        self._busy_at = time.monotonic()
        super().__init__(*arguments, **options)

    def tick(self, *arguments: Any, **options: Any) -> float:
        try:
            elected = self._is_elected()
        except DatabaseError as error:
            logger.warning("beat_database_unreachable", extra={"error": str(error)})
            self._resign()
            connections["default"].close()  # lost as well, and nothing else here would open it again
            elected = False
        except SessionShared as error:
            logger.critical("beat_has_no_session_of_its_own", extra={"error": str(error)})
            elected = False
        _note_clock()
        note_alive()
        if not elected:
            return STANDBY_SECONDS
        for _ in self.schedule:  # Celery sends one of those that are due
            if delay := float(super().tick(*arguments, **options)):
                return delay
        return 0.0

    def adjust(self, seconds: Any, drift: float = 0.0) -> Any:
        """Return the seconds until an entry is due: Celery takes 10 ms off, and ticks in a loop for those."""
        return super().adjust(seconds, drift)

    def apply_async(self, entry: ScheduleEntry, *arguments: Any, **options: Any) -> Any:
        """Send what is due, unless it has nothing to do or the previous message still waits for a worker."""
        if self._rests(entry.task) or is_waiting(queue_of(entry.task), entry.task):
            return None
        self._sent_at[entry.task] = time.monotonic()
        return super().apply_async(entry, *arguments, **options)

    def _rests(self, task: str) -> bool:
        """True if a task has nothing to do, and was sent a short while ago."""
        if not due_work.may_rest(task):
            return False
        now = time.monotonic()
        if now - self._looked_at >= LOOK_SECONDS:
            self._looked_at, self._with_work = now, due_work.with_work()
            if any(map(due_work.is_certain, self._with_work)):
                self._busy_at = now
        if task not in self._with_work:
            rest = self._rest_seconds(due_work.REST_SECONDS)
        else:
            rest = 0.0 if due_work.is_certain(task) else self._rest_seconds(0.0)
        return now - self._sent_at.get(task, float("-inf")) < rest - EARLY_SECONDS

    def _rest_seconds(self, least: float) -> float:
        """Return the rest, which grows while nothing happens. Not with Redis: a worker of one queue ends itself when it
        gets no message for half a minute, and the one of an embedded run gets the pulse each second."""
        if settings.REDIS_SERVERS is not None:
            return least
        return due_work.rest_seconds(least, quiet_seconds=time.monotonic() - self._busy_at)

    def close(self) -> None:
        self._resign()
        super().close()

    def _is_elected(self) -> bool:
        if self._connection is not None:
            with self._connection.cursor() as cursor:
                cursor.execute(TICK)
            return True
        with ExitStack() as unless_elected:
            session = new_session()
            unless_elected.callback(session.close)  # at once: one that is left to the garbage collector holds the lock
            require_own_session(session)
            with session.cursor() as cursor:
                cursor.execute("select pg_try_advisory_lock(%s)", [LOCK])
                [elected] = cursor.fetchone() or [False]
                if not elected:
                    return False
                cursor.execute(TICK)
            logger.info("beat_elected")
            self._take_up_schedule()
            unless_elected.pop_all()
        self._connection = session
        return True

    def _take_up_schedule(self) -> None:
        """Make each task due by its last run, whichever beat sent it. Celery counts from its own start: a task of each
        hour would not run on a machine that is started anew every half an hour."""
        ages = task_runs.ages(entry.task for entry in self.schedule.values())
        for entry in self.schedule.values():
            entry.last_run_at = entry.default_now() - timedelta(seconds=ages[entry.task])
        self._heap = None

    def _resign(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _note_clock() -> None:
    try:
        task_runs.note_clock("beat")
    except DatabaseError:
        connections["default"].close()  # a lost connection would fail for ever
