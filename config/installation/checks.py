"""Warns before a deployment when the database lets this process do what nobody has to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, register
from django.db import DatabaseError

from config.installation.database_roles import too_much


@register(deploy=True)
def check_database_role(app_configs: Sequence[AppConfig] | None, **options: Any) -> list[CheckMessage]:
    """A warning, so that an installation of before goes on. `migrate` is the owner's; no database, no warning."""
    if not settings.IN_PRODUCTION or settings.BALLAST_ROLE in ("migrate", "signer"):
        return []
    try:
        fault = too_much()
    except DatabaseError:
        return []
    if fault is None:
        return []
    return [
        checks.Warning(
            f"The user of DATABASE_URL {fault}: whoever steals this process can change the ledger and the audit log.",
            hint="Run `manage.py database_roles`, and connect as docs/operations.md says under Roles of PostgreSQL.",
            id="installation.W001",
        )
    ]
