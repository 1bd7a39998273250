"""All that a dispatcher reads and writes in the database: it records results and takes what is due. For one thread."""

from __future__ import annotations

import secrets
import time
import uuid
from collections.abc import Collection, Sequence
from random import Random
from typing import Any

import structlog
from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone
from psycopg import Connection

from config.database.sessions import keep_to_one_session
from config.periodic import task_runs
from webhooks.sending.attempts import Sent, put_off, record
from webhooks.sending.due_deliveries import Holding, take_due
from webhooks.sending.leases import hold_number, release_abandoned, release_own
from webhooks.sending.preparing import Preparation, Prepared

logger = structlog.get_logger(__name__)

RELEASE_EVERY_SECONDS = 1.0


class DeliveryStore:
    """Holds a dispatcher's number by an advisory lock, and takes the lock again after the database was away."""

    def __init__(self) -> None:
        self.number = secrets.randbelow(2**31 - 1) + 1
        self._chance = Random()  # noqa: S311 - jitter, not a secret
        self._preparation = Preparation()
        self._session: Connection[Any] | None = None
        self._is_doubtful = False
        self._released_at = float("-inf")

    def exchange(
        self, results: Sequence[Sent], *, room: int, probes: int, holdings: Collection[Holding]
    ) -> list[Prepared]:
        """Record results, and take up to `room` deliveries beside the `holdings`.

        After a failure the same results may be passed again: nothing is recorded twice.
        """
        try:
            if not self._is_open():
                self._open({holding.endpoint_id for holding in holdings} | {sent.due.endpoint_id for sent in results})
            if results:
                self._record(results)
            self._is_doubtful = False
            task_runs.note(task_runs.DISPATCHER)
            return self._take(room, probes, holdings)
        except (OperationalError, InterfaceError):
            self._is_doubtful = True  # the reply to a commit may have been lost
            raise

    def give_back(self) -> None:
        """Give all leases back. When the database is away they end with the session."""
        try:
            if self._is_open():
                release_own(self.number)
        except (OperationalError, InterfaceError) as error:
            logger.warning("webhook_leases_not_given_back", error=str(error))

    def _is_open(self) -> bool:
        """True if this is still the session that holds the number: after a failure Django may have opened another."""
        return self._session is not None and connection.connection is self._session and not self._session.closed

    def _open(self, known: Collection[uuid.UUID]) -> None:
        """Open a session of its own, whose end frees the leases; those of endpoints not in `known` are given back."""
        keep_to_one_session()
        if not hold_number(self.number):
            raise OperationalError("the server has not noticed yet that the previous session is gone")
        release_own(self.number, keep=known)
        self._session = connection.connection

    def _record(self, results: Sequence[Sent]) -> None:
        try:
            record(results, chance=self._chance, again=self._is_doubtful)
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            # One result that cannot be stored must not block the others, or they would be sent again for ever.
            if len(results) > 1:
                self._is_doubtful = True  # some may be recorded already
                for sent in results:
                    self._record([sent])
                return
            (sent,) = results
            logger.exception("webhook_attempt_not_recorded", delivery=str(sent.due.delivery_id))
            put_off(sent)

    def _take(self, room: int, probes: int, holdings: Collection[Holding]) -> list[Prepared]:
        if time.monotonic() - self._released_at >= RELEASE_EVERY_SECONDS:
            if freed := release_abandoned(timezone.now()):
                logger.warning("webhook_leases_of_lost_dispatcher_freed", count=freed)
            self._released_at = time.monotonic()
        now = timezone.now()
        due = take_due(self.number, limit=room, probes=probes, now=now, holdings=holdings)
        return self._preparation.prepare(due, now=now)
