"""The periodic task over transfers and payouts that are due. A lost or repeated task does no harm."""

from __future__ import annotations

from celery import shared_task

from payments.transfers.executor import run_due


@shared_task(name="transfers.drive")
def drive() -> None:
    """Follow, sign and send whatever is due, wallet by wallet."""
    run_due()
