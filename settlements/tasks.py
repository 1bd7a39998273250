"""Sweeps over rows that are due. Losing or repeating one changes nothing but the delay."""

from __future__ import annotations

from celery import shared_task

from config.turns import turn_at
from settlements import runs


@shared_task(name="settlements.run_due")
def run_due() -> None:
    """Settle every merchant's period that has ended."""
    runs.run_due()


@shared_task(name="settlements.advance_due")
def advance_due() -> None:
    """Have settlements paid, and tell how that ended, until nothing is left that can go on."""
    with turn_at("settlements.advance_due") as is_ours:
        while is_ours and runs.advance_due() >= runs.ADVANCED_MAX:
            pass
