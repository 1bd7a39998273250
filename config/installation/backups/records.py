"""What is known of backups: the last that was made, and the last that was tried. Commands note it, others read it."""

from __future__ import annotations

from datetime import datetime

from config.installation.backups.keys import Fingerprints
from config.installation.models import BackupRun

NAME_LENGTH = 200


def note(
    kind: BackupRun.Kind,
    *,
    name: str = "",
    taken_at: datetime | None = None,
    size: int = 0,
    keys: Fingerprints | None = None,
    fault: str = "",
) -> BackupRun:
    return BackupRun.objects.create(
        kind=kind, name=name[-NAME_LENGTH:], taken_at=taken_at, size=size, keys=keys or {}, fault=fault
    )
