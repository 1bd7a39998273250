"""The processes of Ballast as compose.yaml has them, and what follows from that for systemd and Kubernetes."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from config.process import roles

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = ("compose.yaml", "compose.signer.yaml")

DATABASE_USERS = {"web": "web", "migrate": "owner", "signer": ""}
"""Whose rights in the database a role has; a worker's without a row here."""

REACHES = {
    "chain": "internet",
    "webhooks": "internet",
    "money": "internet",
    "reports": "mail",
    "signer": "keys",
}
"""What a role reaches besides PostgreSQL and Redis: providers and merchants' servers; mail; a key service."""

SAYS = {
    "migrate": "migrations, once before each new version",
    "web": "API, dashboard and payers' pages",
    "chain": "the worker that reads networks",
    "webhooks": "the worker that sends webhooks and mails",
    "money": "the worker that sends money",
    "reports": "the worker for statements, exports and alarms",
    "beat": "beat, which says what is due",
    "signer": "the signer, which has the keys of the hot wallets",
}


@dataclass(frozen=True)
class Process:
    role: str
    service: dict[str, Any]

    @property
    def database_user(self) -> str:
        return DATABASE_USERS.get(self.role, "worker")

    @property
    def reaches(self) -> str:
        return REACHES.get(self.role, "")

    @cached_property
    def secrets(self) -> list[str]:
        """Secrets that compose gives it, in alphabetical order."""
        return sorted(set(self.service["environment"]) & roles.USERS.keys())

    @cached_property
    def settings(self) -> list[str]:
        """What else compose passes on from .env; what it sets itself is not among them."""
        given = self.service["environment"]
        passed = {name for name, value in given.items() if value is None or str(value).startswith(f"${{{name}:+")}
        return sorted(passed - roles.USERS.keys())

    @property
    def commands(self) -> list[list[str]]:
        """One after the other: of the service, else of the image, without the shell around it."""
        command = self.service.get("command")
        words = shlex.split(command) if command else of_the_image()
        if words[:2] != ["sh", "-c"]:
            return [words]
        return [shlex.split(part.strip().removeprefix("exec ")) for part in words[2].split("&&")]


def of_the_image() -> list[str]:
    found = re.search(r"^CMD (\[.*\])$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    assert found
    words: list[str] = json.loads(found[1])
    return words


def services(*names: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name in names or COMPOSE:
        found |= yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))["services"]
    return found


def processes() -> list[Process]:
    return [Process(name, service) for name, service in services().items() if service.get("image") == "ballast"]
