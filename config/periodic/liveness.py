"""The sign of life of a process that serves no requests: the age of a file, for a health check to compare."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings


def note_alive() -> None:
    """Renew ALIVE_FILE, where there is one."""
    if settings.ALIVE_FILE:
        Path(settings.ALIVE_FILE).touch()
