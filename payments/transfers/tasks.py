"""Periodic tasks over transfers and payouts. A lost or repeated task does no harm."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from celery import shared_task
from django.db.models import QuerySet
from django.utils import timezone

from config.database.advisory_locks import named_lock
from config.periodic.due_work import rows_of
from payments.transfers import owners
from payments.transfers.execution.executor import due_rows, run_due


@shared_task(name="transfers.drive")
def drive() -> None:
    """Follow, sign and send whatever is due, wallet by wallet."""
    run_due()


@shared_task(name="transfers.follow_payouts")
def follow_payouts() -> None:
    """Update refunds, settlements and whatever else a payout is for, once it has ended."""
    with named_lock("transfers.follow_payouts") as is_ours:
        if is_ours:
            owners.follow_payouts()


@rows_of("transfers.drive")
def _due() -> Iterable[QuerySet[Any]]:
    return due_rows(timezone.now())


@rows_of("transfers.follow_payouts")
def _to_follow() -> Iterable[QuerySet[Any]]:
    return owners.to_follow()
