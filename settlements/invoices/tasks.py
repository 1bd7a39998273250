"""Periodic task: invoices of months that have ended."""

from __future__ import annotations

from celery import shared_task

from config.database.advisory_locks import named_lock
from settlements.invoices import issuing


@shared_task(name="invoices.issue_due")
def issue_due() -> None:
    """Issue the invoices and credit notes that are due."""
    with named_lock("issue invoices") as is_ours:
        if is_ours:
            issuing.issue_due()
