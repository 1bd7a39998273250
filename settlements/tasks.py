"""Periodic tasks over rows that are due. A lost or repeated task does no harm."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from celery import shared_task
from django.db.models import QuerySet
from django.utils import timezone

from config.database.advisory_locks import named_lock
from config.periodic.due_work import rows_of
from settlements import due_runs


@shared_task(name="settlements.run_due")
def run_due() -> None:
    """Settle every merchant's period that has ended."""
    due_runs.run_due()


@shared_task(name="settlements.advance_due")
def advance_due() -> None:
    """Advance settlements until none is left that can go on."""
    with named_lock("settlements.advance_due") as is_ours:
        while is_ours and due_runs.advance_due() >= due_runs.ADVANCED_MAX:
            pass


@rows_of("settlements.advance_due")
def _to_advance() -> Iterable[QuerySet[Any]]:
    return [due_runs.that_can_go_on(timezone.now())]
