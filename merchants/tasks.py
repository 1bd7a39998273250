"""Sweeps over what merchants leave behind: counts to fold, replies nobody will ask for again."""

from __future__ import annotations

from celery import shared_task

from merchants import counting


@shared_task(name="merchants.fold_counts")
def fold_counts() -> None:
    """Fold until fewer than a batch are left, so that a backlog does not take one interval for each batch."""
    while counting.fold_counts() == counting.FOLD_BATCH:
        pass
