"""Keeps a worker taking messages after Redis was away, and ends one that takes none all the same."""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import Any

from celery import bootsteps, signals
from celery.worker import state
from django.conf import settings
from django.db import Error, connection
from kombu.transport import redis as transport

from config.periodic.beat_lock import HEARTBEAT_MAX_SECONDS, heartbeat_age_seconds
from config.periodic.liveness import note_alive
from config.periodic.queued_tasks import broker_answers

logger = logging.getLogger(__name__)

LOOK_EVERY_SECONDS = 5.0
QUIET_SECONDS, QUIET_INTERVALS = 30.0, 3
"""A worker may take no message for three intervals of what beat sends it most often, and for half a minute at least."""


class QoS(transport.QoS):
    """Counts a message as done also when Redis cannot be reached for it.

    With kombu's own it counts as unfinished for ever. The consumer pauses while as many messages are unfinished as it
    may have, and a paused one does not look at its connection: nobody would notice that the connection is broken.
    """

    def ack(self, delivery_tag: str) -> None:
        try:
            super().ack(delivery_tag)
        finally:
            self._quick_ack(delivery_tag)

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        try:
            super().reject(delivery_tag, requeue)
        finally:
            self._quick_ack(delivery_tag)


class Guard(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery has no types
    """Ends its worker when it takes no message though beat sends them, whatever the cause."""

    def __init__(self, worker: Any, **_: Any) -> None:
        self._stopped = threading.Event()
        self._taken_at = time.monotonic()

    def start(self, worker: Any) -> None:
        self._note_taken()
        signals.task_received.connect(self._note_taken)
        limit = _quiet_limit(worker.app)
        threading.Thread(target=self._watch, args=[worker, limit], name="guard", daemon=True).start()

    def stop(self, worker: Any) -> None:
        self._stopped.set()

    def _note_taken(self, **_: Any) -> None:
        self._taken_at = time.monotonic()

    def _watch(self, worker: Any, limit: float | None) -> None:
        while not self._stopped.wait(LOOK_EVERY_SECONDS):
            try:
                self._look(worker, limit)
            except Exception:
                # A guard that has ended guards nothing. One that fails each time notes no life, which supervisors see.
                logger.exception("guard_failed")

    def _look(self, worker: Any, limit: float | None) -> None:
        if limit is None or (self._quiet_for() > LOOK_EVERY_SECONDS and not _sends_messages()):
            self._note_taken()
        is_busy = len(state.active_requests) >= worker.concurrency
        if limit is not None and self._quiet_for() > limit + settings.CELERY_TASK_TIME_LIMIT * is_busy:
            logger.critical("worker_takes_no_message", extra={"quiet_seconds": round(self._quiet_for())})
            os._exit(os.EX_SOFTWARE)  # nothing of it can be trusted to end in order
        note_alive()

    def _quiet_for(self) -> float:
        return time.monotonic() - self._taken_at


def _quiet_limit(app: Any) -> float | None:
    """Longest time this worker may take no message; None when beat sends it none."""
    queues = set(app.amqp.queues.consume_from)
    intervals = [
        float(entry["schedule"])
        for entry in app.conf.beat_schedule.values()
        if app.amqp.router.route({}, entry["task"])["queue"].name in queues
    ]
    return max(QUIET_SECONDS, QUIET_INTERVALS * min(intervals)) if intervals else None


def _sends_messages() -> bool:
    """True if the broker answers and a beat ticks: then messages come."""
    try:
        age = heartbeat_age_seconds()
        return age is not None and age < HEARTBEAT_MAX_SECONDS and broker_answers()
    except Error:
        return False
    finally:
        connection.close()


def install(app: Any) -> None:
    transport.Channel.QoS = QoS
    app.steps["worker"].add(Guard)
