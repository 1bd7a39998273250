"""Warns before a deployment, and when a process starts, if the database lets it do what nobody has to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import structlog
from django.apps import AppConfig
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, register
from django.db import DatabaseError

from config.installation.database_roles import too_much

logger = structlog.get_logger(__name__)

_HINT = "Run `manage.py database_roles`, and connect as docs/operations.md says under Roles of PostgreSQL."


@register(deploy=True)
def check_database_role(app_configs: Sequence[AppConfig] | None, **options: Any) -> list[CheckMessage]:
    """A warning, so that an installation of before goes on."""
    fault = _fault()
    return [checks.Warning(fault, hint=_HINT, id="installation.W001")] if fault else []


def warn_at_start() -> None:
    """Write the same to the log of a process that has just started."""
    if fault := _fault():
        logger.warning("database_role", fault=fault, hint=_HINT)


def _fault() -> str | None:
    """What this process may do and should not. `migrate` is the owner's; without a database nothing is known."""
    if not settings.IN_PRODUCTION or settings.BALLAST_ROLE in ("migrate", "signer"):
        return None
    try:
        found = too_much()
    except DatabaseError:
        return None
    if found is None:
        return None
    return f"The user of DATABASE_URL {found}: whoever steals this process can change the ledger and the audit log."
