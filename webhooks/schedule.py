"""Times of further attempts, and the meaning of a reply. Pure."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import Enum
from http import HTTPStatus
from typing import NamedTuple

WAITS: tuple[timedelta, ...] = (
    timedelta(),
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=14),
    timedelta(hours=20),
    timedelta(hours=24),
)
"""Before each attempt, counted from the one before it: ten attempts in a little over three days."""

ATTEMPTS = len(WAITS)
JITTER = 0.2
RETRY_AFTER_MAX = timedelta(hours=24)
FAILING_MAX = timedelta(days=5)
"""An endpoint that has failed for so long is disabled."""


class Outcome(Enum):
    SUCCESS = "success"
    FAILURE = "failure"
    GONE = "gone"


class Reply(NamedTuple):
    """The reply to one request, or why there is none."""

    status_code: int | None = None
    body: bytes = b""
    retry_after: timedelta | None = None
    error: str = ""

    @property
    def outcome(self) -> Outcome:
        """Only 2xx is success. A redirect is none: it is never followed."""
        if self.status_code is None:
            return Outcome.FAILURE
        if self.status_code == HTTPStatus.GONE:
            return Outcome.GONE
        return Outcome.SUCCESS if 200 <= self.status_code < 300 else Outcome.FAILURE


def next_attempt_at(
    now: datetime, *, attempts_left: int, retry_after: timedelta | None, chance: random.Random
) -> datetime | None:
    """Time of the next attempt after a failure, with so many attempts left; None when that was the last.

    The wait varies by a fifth either way, so that what failed together is not retried together. A receiver's
    Retry-After can make it longer, never shorter.
    """
    if attempts_left <= 0:
        return None
    wait = WAITS[ATTEMPTS - attempts_left] * chance.uniform(1 - JITTER, 1 + JITTER)
    if retry_after is not None:
        wait = max(wait, min(retry_after, RETRY_AFTER_MAX))
    return now + wait


def parse_retry_after(value: str | None, *, now: datetime) -> timedelta | None:
    """The wait in a Retry-After header: seconds, or an HTTP date. None when it has nothing usable."""
    if not value:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return min(timedelta(seconds=int(text[:9])), RETRY_AFTER_MAX)
    try:
        instant = parsedate_to_datetime(text)
    except ValueError:
        return None
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=UTC)
    return max(timedelta(), min(instant - now, RETRY_AFTER_MAX))
