"""The secrets of an embedded run: made once, kept in `var/secrets.env`, readable by its owner only."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

NAMES = ("SECRET_KEY", "API_KEY_PEPPER", "WEBHOOK_ENCRYPTION_KEY")

HEADER = "# Made by the first run. Keep it with the database: API keys and webhooks do not work without it.\n"


def ensure_secrets(var: Path) -> None:
    """Adds what is missing, and never changes what is there: without these keys nobody could log in again."""
    path = var / "secrets.env"
    kept = path.read_text() if path.exists() else HEADER
    there = {line.partition("=")[0] for line in kept.splitlines()}
    if missing := [name for name in NAMES if name not in there]:
        write_private(path, kept + "".join(f"{name}={secrets.token_urlsafe(48)}\n" for name in missing))


def write_private(path: Path, text: str) -> None:
    """Writes a whole file or none, readable by its owner only from its first byte on."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)
    unfinished.replace(path)
