"""Keeps the pulse, and stands still on a restored database."""

from __future__ import annotations

from celery import shared_task

from config.installation import services


@shared_task(name="installation.keep_pulse")
def keep_pulse() -> None:
    """Once a second: the marker outside shows later that everything committed before the last pulse should exist."""
    services.keep_pulse()
