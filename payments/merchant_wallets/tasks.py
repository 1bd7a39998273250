"""Periodic task: changes of wallets whose wait is over."""

from __future__ import annotations

from celery import shared_task

from payments.merchant_wallets import services


@shared_task(name="wallets.apply_due")
def apply_due() -> None:
    """Put the wallets in use whose wait is over."""
    services.apply_due()
