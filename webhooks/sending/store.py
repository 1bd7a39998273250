"""The dispatcher's side to the database: what came back is written down, what is due is taken. For one thread."""

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

from config import pulses
from config.sessions import keep_to_one_session
from webhooks.sending.attempts import Sent, put_off, record
from webhooks.sending.claiming import Holding, claim
from webhooks.sending.leases import hold_number, release_abandoned, release_own
from webhooks.sending.preparing import Preparation, Prepared

logger = structlog.get_logger(__name__)

RELEASE_EVERY_SECONDS = 1.0
PULSE_EVERY_SECONDS = 5.0


class Desk:
    """Holds a dispatcher's number, and gives it a session's lock again when the database was away."""

    def __init__(self) -> None:
        self.number = secrets.randbelow(2**31 - 1) + 1
        self._chance = Random()  # noqa: S311 - jitter, not a secret
        self._preparation = Preparation()
        self._session: Connection[Any] | None = None
        self._is_doubtful = False
        self._released_at = float("-inf")
        self._pulsed_at = float("-inf")

    def exchange(
        self, results: Sequence[Sent], *, room: int, probes: int, holdings: Collection[Holding]
    ) -> list[Prepared]:
        """Write results down, and claim up to `room` deliveries beside the `holdings`.

        After a failure the same results may be handed over again: nothing is recorded twice.
        """
        try:
            if not self._is_open():
                self._open({holding.endpoint_id for holding in holdings} | {sent.claim.endpoint_id for sent in results})
            if results:
                self._record(results)
            self._is_doubtful = False
            if time.monotonic() - self._pulsed_at >= PULSE_EVERY_SECONDS:
                pulses.note(pulses.DISPATCHER)
                self._pulsed_at = time.monotonic()
            return self._take(room, probes, holdings)
        except (OperationalError, InterfaceError):
            self._is_doubtful = True  # the answer to a commit may have been lost
            raise

    def give_back(self) -> None:
        """Give all endpoints back. When the database is away their leases end with the session."""
        try:
            if self._is_open():
                release_own(self.number)
        except (OperationalError, InterfaceError) as error:
            logger.warning("webhook_leases_not_given_back", error=str(error))

    def _is_open(self) -> bool:
        """Whether this is still the session that holds the number: after a failure Django may have opened another."""
        return self._session is not None and connection.connection is self._session and not self._session.closed

    def _open(self, known: Collection[uuid.UUID]) -> None:
        """A session of its own, whose end frees the number's endpoints; those it knows nothing of are given back."""
        keep_to_one_session()
        if not hold_number(self.number):
            raise OperationalError("the server has not noticed yet that the session before is gone")
        release_own(self.number, keep=known)
        self._session = connection.connection

    def _record(self, results: Sequence[Sent]) -> None:
        try:
            record(results, chance=self._chance, again=self._is_doubtful)
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            # One result that cannot be stored must not keep the others from it, or they would be sent again for ever.
            if len(results) > 1:
                self._is_doubtful = True  # some may be recorded already
                for sent in results:
                    self._record([sent])
                return
            (sent,) = results
            logger.exception("webhook_attempt_not_recorded", delivery=str(sent.claim.delivery_id))
            put_off(sent)

    def _take(self, room: int, probes: int, holdings: Collection[Holding]) -> list[Prepared]:
        if time.monotonic() - self._released_at >= RELEASE_EVERY_SECONDS:
            if freed := release_abandoned(timezone.now()):
                logger.warning("webhook_leases_of_lost_dispatcher_freed", count=freed)
            self._released_at = time.monotonic()
        now = timezone.now()
        claims = claim(self.number, limit=room, probes=probes, now=now, holdings=holdings)
        return self._preparation.prepare(claims, now=now)
