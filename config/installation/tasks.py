"""Keeping the pulse, and standing still on a restored database."""

from __future__ import annotations

from celery import shared_task

from config.installation import services


@shared_task(name="installation.keep_pulse")
def keep_pulse() -> None:
    """Once a second: what was committed before the last pulse is known to exist, by a note outside the database."""
    services.keep_pulse()
