"""The secrets of an embedded run: made once, kept in `var/secrets.env` for their owner alone."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

NAMES = ("SECRET_KEY", "API_KEY_PEPPER")


def ensure_secrets(var: Path) -> None:
    """Without these keys nobody could log in again, so a file that exists is never written over."""
    path = var / "secrets.env"
    if path.exists():
        return
    lines = ["# Made by the first run. Keep it with the database: API keys do not work without it."]
    lines += [f"{name}={secrets.token_urlsafe(48)}" for name in NAMES]
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
