"""Sweeps over what merchants leave behind: counts to fold, replies nobody will ask for again."""

from __future__ import annotations

from datetime import timedelta

from celery import shared_task
from django.conf import settings
from django.contrib.sessions.models import Session
from django.utils import timezone

from config.purging import delete_in_batches
from merchants import counting
from merchants.access import attempts, authentication, idempotency

ATTEMPTS_KEPT_FOR = timedelta(days=1)


@shared_task(name="merchants.fold_counts")
def fold_counts() -> None:
    """Fold until fewer than a batch are left, so that a backlog does not take one interval for each batch."""
    while counting.fold_counts() == counting.FOLD_BATCH:
        pass


@shared_task(name="merchants.purge_idempotency")
def purge_idempotency() -> None:
    """Drops what only had to be remembered for a while: stored replies, accepted signatures, counted attempts,
    and log-in sessions that have ended."""
    now = timezone.now()
    idempotency.purge(now=now)
    authentication.purge_signatures(now=now)
    attempts.purge(before=now - ATTEMPTS_KEPT_FOR)
    ended = now - timedelta(days=settings.SESSIONS_KEPT_DAYS)
    delete_in_batches(Session.objects.filter(expire_date__lt=ended))
