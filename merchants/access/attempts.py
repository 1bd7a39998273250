"""Counts wrong guesses of keys and passwords in PostgreSQL, where every process sees the same count.

Without its database Ballast answers nobody, so these counters fail closed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Final

from django.db import transaction

from config.purging import delete_in_batches
from merchants.models import AttemptCount


@dataclass(frozen=True, slots=True)
class Patience:
    """How many guesses are free, how long the next one waits, and after how much quiet all is forgotten.

    The wait doubles with each guess after the free ones, from the first to the longest.
    """

    free: int
    first_wait_seconds: int
    longest_wait_seconds: int
    forget_after_seconds: int

    def wait_seconds(self, failures: int, last_attempt_at: datetime, now: datetime) -> int:
        """How long the next guess has to wait yet; 0: not at all."""
        if failures < self.free or self.has_forgotten(last_attempt_at, now):
            return 0
        doublings = min(failures - self.free, 30)
        wait = min(self.longest_wait_seconds, self.first_wait_seconds << doublings)
        return max(0, ceil((last_attempt_at + timedelta(seconds=wait) - now).total_seconds()))

    def has_forgotten(self, last_attempt_at: datetime, now: datetime) -> bool:
        return now - last_attempt_at >= timedelta(seconds=self.forget_after_seconds)


KEYS_FROM_ADDRESS: Final = Patience(free=20, first_wait_seconds=60, longest_wait_seconds=60, forget_after_seconds=60)
"""Refuses before any comparison, so that at most 20 guesses in any minute from one place are looked at."""

SECRETS_OF_KEY: Final = Patience(free=60, first_wait_seconds=60, longest_wait_seconds=60, forget_after_seconds=60)
"""Slows down wrong secrets only: whoever knows a public key must not be able to lock its owner out."""

LOG_INS_TO_ACCOUNT: Final = Patience(free=5, first_wait_seconds=2, longest_wait_seconds=900, forget_after_seconds=3600)
LOG_INS_FROM_ADDRESS: Final = Patience(
    free=20, first_wait_seconds=2, longest_wait_seconds=900, forget_after_seconds=3600
)

CLAIMS_OF_PAYMENT: Final = Patience(free=10, first_wait_seconds=60, longest_wait_seconds=60, forget_after_seconds=60)
CLAIMS_FROM_ADDRESS: Final = Patience(free=20, first_wait_seconds=60, longest_wait_seconds=60, forget_after_seconds=60)
"""Not guesses, but questions of people without a key, each of which costs questions to a network."""


def take_attempt(subject: str, patience: Patience, *, now: datetime) -> int:
    """Counts one guess before it is looked at and answers 0, or the seconds it has to wait, counting nothing.

    The row is locked meanwhile: parallel guesses are counted one after another.
    """
    with transaction.atomic():
        AttemptCount.objects.bulk_create([AttemptCount(subject=subject, last_attempt_at=now)], ignore_conflicts=True)
        count = AttemptCount.objects.select_for_update().get(pk=subject)
        if wait := patience.wait_seconds(count.failures, count.last_attempt_at, now):
            return wait
        failures = 0 if patience.has_forgotten(count.last_attempt_at, now) else count.failures
        count.failures, count.last_attempt_at = failures + 1, now
        count.save(update_fields=["failures", "last_attempt_at"])
    return 0


def give_back(subject: str) -> None:
    """Takes back one counted attempt that turned out to be right."""
    with transaction.atomic():
        count = AttemptCount.objects.select_for_update().filter(pk=subject, failures__gt=0).first()
        if count is not None:
            count.failures -= 1
            count.save(update_fields=["failures"])


def forget(subject: str) -> None:
    AttemptCount.objects.filter(pk=subject).delete()


def purge(*, before: datetime) -> int:
    """Drops the counts nobody waits for any more; answers how many."""
    return delete_in_batches(AttemptCount.objects.filter(last_attempt_at__lt=before))
