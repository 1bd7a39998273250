"""Periodic tasks: folding counts, and deleting stored replies and other short-lived rows."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from celery import shared_task
from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.utils import timezone

from config.database.counters import fold_all
from config.database.purging import delete_in_batches
from config.periodic.due_work import rows_of
from merchants.access import attempts, authentication, idempotency
from merchants.audit import purging as audit
from merchants.counting import COUNTS
from merchants.models import RecordCountDelta
from merchants.request_log import purging as request_log

ATTEMPTS_KEPT_FOR = timedelta(days=1)
SESSIONS_KEPT_FOR = timedelta(days=1)


@shared_task(name="merchants.fold_counts")
def fold_counts() -> None:
    """Fold all deltas of counts."""
    fold_all(COUNTS)


@shared_task(name="merchants.purge_idempotency")
def purge_idempotency() -> None:
    """Delete rows that are only kept for a while: stored replies, accepted signatures, counted attempts,
    log-in sessions that have ended, and what the audit log has kept long enough."""
    now = timezone.now()
    idempotency.purge(now=now)
    authentication.purge_signatures(now=now)
    attempts.purge(before=now - ATTEMPTS_KEPT_FOR)
    delete_in_batches(Session.objects.filter(expire_date__lt=now - SESSIONS_KEPT_FOR))
    audit.purge(now=now)


@shared_task(name="merchants.purge_requests")
def purge_requests() -> None:
    """Drop the months that the log of API requests has kept long enough, and make the next."""
    request_log.purge(now=timezone.now())


@rows_of("merchants.fold_counts")
def _to_fold() -> Iterable[QuerySet[Any]]:
    return [RecordCountDelta.objects.all()]
