"""Requests to the API as commands for a shell, complete but for the keys, which it takes from the environment."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from urllib.parse import urlencode

from django.conf import settings

from config.environments import Environment

_PREFIXES = {Environment.PRODUCTION: "/v1", Environment.SANDBOX: "/sandbox/v1"}
_KEYS = (
    '  -H "Authorization: Bearer $BALLAST_PUBLIC_KEY" \\\n'
    '  -H "X-Api-Secret: $BALLAST_SECRET_KEY"'
)  # fmt: skip


def reading(environment: str, path: str, query: Mapping[str, str] | None = None) -> str:
    """The command that reads a record or a list from the API, by its path without the version."""
    address = f"{_PREFIXES[Environment(environment)]}/{path}"
    return command("GET", f"{address}?{urlencode(query)}" if query else address)


def command(method: str, path: str, *, body: str = "", idempotency_key: str = "") -> str:
    """The command that sends a request. `path` is as the server sees it, with the query."""
    verb = "" if method == ("POST" if body else "GET") else f"-X {method} "
    parts = [f"curl {verb}{shlex.quote(f'{settings.PUBLIC_URL}{path}')}", _KEYS]
    if idempotency_key:
        parts.append(f"  -H {shlex.quote(f'Idempotency-Key: {idempotency_key}')}")
    if body:
        parts += ["  -H 'Content-Type: application/json'", f"  --data-raw {shlex.quote(body)}"]
    return " \\\n".join(parts)
