"""The secrets of an embedded run: made once, kept in `var/secrets.env` for their owner alone."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

NAMES = ("SECRET_KEY", "API_KEY_PEPPER", "WEBHOOK_ENCRYPTION_KEY")
HEADING = "# Made by the first run. Keep it with the database: API keys and webhooks do not work without it."


def ensure_secrets(var: Path) -> None:
    """Without these keys nobody could log in again, so what a file has stays, and only what it lacks is added."""
    path = var / "secrets.env"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else [HEADING]
    known = {line.partition("=")[0].strip() for line in lines}
    if missing := [name for name in NAMES if name not in known]:
        lines += [f"{name}={secrets.token_urlsafe(48)}" for name in missing]
        write_private(path, "\n".join(lines) + "\n")


def write_private(path: Path, text: str) -> None:
    """Writes a whole file or none, readable by its owner only from its first byte on."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)
    unfinished.replace(path)
