"""Sweeps over rows that are due. Losing or repeating one changes nothing but the delay."""

from __future__ import annotations

from celery import shared_task

from payments.transfers.driving import drive_due


@shared_task(name="transfers.drive")
def drive() -> None:
    """Follow, sign and send whatever is due, wallet by wallet."""
    drive_due()
