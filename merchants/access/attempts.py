"""Counts wrong guesses of keys and passwords in PostgreSQL, where every process sees the same count.

Without the database nobody is let in, so these counters fail closed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Final

from django.db import transaction

from config.database.purging import delete_in_batches
from merchants.models import AttemptCount


@dataclass(frozen=True, slots=True)
class Patience:
    """Limits of guessing: the number of free guesses, the wait for the next one, and when they are forgotten.

    The wait doubles with each guess after the free ones, from the first to the longest.
    """

    free: int
    first_wait_seconds: int
    longest_wait_seconds: int
    forget_after_seconds: int

    def wait_seconds(self, failures: int, last_attempt_at: datetime, now: datetime) -> int:
        """Seconds until the next guess is looked at; 0 when it is at once."""
        if failures < self.free or self.has_forgotten(last_attempt_at, now):
            return 0
        doublings = min(failures - self.free, 30)
        wait = min(self.longest_wait_seconds, self.first_wait_seconds << doublings)
        return max(0, ceil((last_attempt_at + timedelta(seconds=wait) - now).total_seconds()))

    def has_forgotten(self, last_attempt_at: datetime, now: datetime) -> bool:
        return now - last_attempt_at >= timedelta(seconds=self.forget_after_seconds)


KEYS_FROM_ADDRESS: Final = Patience(free=20, first_wait_seconds=60, longest_wait_seconds=60, forget_after_seconds=60)
"""Refuses before any comparison, so that at most 20 guesses a minute from one address are looked at."""

SECRETS_OF_KEY: Final = Patience(free=60, first_wait_seconds=60, longest_wait_seconds=60, forget_after_seconds=60)
"""Slows down wrong secrets only: somebody who knows a public key must not be able to lock its owner out."""

LOG_INS_TO_ACCOUNT: Final = Patience(free=5, first_wait_seconds=2, longest_wait_seconds=900, forget_after_seconds=3600)
LOG_INS_FROM_ADDRESS: Final = Patience(
    free=20, first_wait_seconds=2, longest_wait_seconds=900, forget_after_seconds=3600
)

SECOND_FACTORS: Final = Patience(free=5, first_wait_seconds=2, longest_wait_seconds=900, forget_after_seconds=3600)
"""Codes of one person, who has given the password or is logged in already."""

SIGN_UPS_FROM_ADDRESS: Final = Patience(
    free=20, first_wait_seconds=60, longest_wait_seconds=900, forget_after_seconds=3600
)
"""Sign-ups and lost passwords: what sends a mail to an address that anybody may type."""

MAILS_TO_ADDRESS: Final = Patience(free=5, first_wait_seconds=60, longest_wait_seconds=3600, forget_after_seconds=3600)
"""Mails that strangers can have sent to somebody: beyond these nothing is sent, without any sign of it."""

CONNECTIONS_FROM_ADDRESS: Final = Patience(
    free=20, first_wait_seconds=60, longest_wait_seconds=60, forget_after_seconds=60
)
"""For codes that applications exchange for keys."""

CLAIMS_OF_PAYMENT: Final = Patience(free=10, first_wait_seconds=60, longest_wait_seconds=60, forget_after_seconds=60)
CLAIMS_FROM_ADDRESS: Final = Patience(free=20, first_wait_seconds=60, longest_wait_seconds=60, forget_after_seconds=60)
"""For claims of people without a key, each of which costs requests to a network's providers."""

RECEIPTS_FROM_ADDRESS: Final = Patience(
    free=20, first_wait_seconds=60, longest_wait_seconds=60, forget_after_seconds=60
)
"""For PDF files of receipts, each of which a process sets, and for checks of receipts."""
CONTACTS_OF_PAYMENT: Final = Patience(
    free=3, first_wait_seconds=600, longest_wait_seconds=3600, forget_after_seconds=86400
)
CONTACTS_OF_SANDBOX: Final = Patience(
    free=20, first_wait_seconds=900, longest_wait_seconds=900, forget_after_seconds=3600
)
"""For addresses that payers leave for mails, and of all payments of a merchant in the sandbox, where paying is free."""

PAYMENTS_FROM_ADDRESS: Final = Patience(
    free=20, first_wait_seconds=60, longest_wait_seconds=60, forget_after_seconds=60
)
PAYMENTS_OF_LINK: Final = Patience(free=120, first_wait_seconds=30, longest_wait_seconds=30, forget_after_seconds=30)
"""For payments that anybody who has the address of a payment link can make, each of which costs a row and an address.

Many people may share an address, and a busy sale may have many payers at once; after the free ones there is a pause.
"""


def take_attempt(subject: str, patience: Patience, *, now: datetime) -> int:
    """Counts one guess before it is looked at and returns 0; or counts nothing and returns the seconds to wait.

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
    """Takes back one counted attempt that was right."""
    with transaction.atomic():
        count = AttemptCount.objects.select_for_update().filter(pk=subject, failures__gt=0).first()
        if count is not None:
            count.failures -= 1
            count.save(update_fields=["failures"])


def forget(subject: str) -> None:
    AttemptCount.objects.filter(pk=subject).delete()


def purge(*, before: datetime) -> int:
    """Deletes counts that make nobody wait any more; returns how many."""
    return delete_in_batches(AttemptCount.objects.filter(last_attempt_at__lt=before))
