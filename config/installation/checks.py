"""Refuses a deployment, and a process at its start, whose user of PostgreSQL may do what nobody has to; warns where a
password alone lets an operator in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import structlog
from django.apps import AppConfig
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Tags, register
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connection
from django.db.migrations.recorder import MigrationRecorder

from config.installation.database_roles import IS_SUPERUSER, OWNS_TABLES, WEB, WORKER, too_much

logger = structlog.get_logger(__name__)

_HINT = (
    f"Run `manage.py database_roles` as that user, and set DATABASE_URL to one that connects as {WEB} or {WORKER}: "
    "docs/databases.md has the steps under Roles of PostgreSQL."
)
_LEADS_HERE = "e6575a0"
"""The commit whose `migrate` turns the tables of versions before the first release into those of the release."""
_FIRST_TABLES = ("ledger", "0001_tables")
_ONE_FACTOR = "OPERATOR_SECOND_FACTOR is false: a password alone lets an operator into the admin."


@register(deploy=True)
def check_second_factor(app_configs: Sequence[AppConfig] | None, **options: Any) -> list[CheckMessage]:
    """A warning only, since the operator has chosen it."""
    return [checks.Warning(_ONE_FACTOR, id="installation.W002")] if _is_one_factor_enough() else []


@register(deploy=True)
def check_database_role(app_configs: Sequence[AppConfig] | None, **options: Any) -> list[CheckMessage]:
    if (found := _found()) is None:
        return []
    message = checks.Error if _is_refused(found) else checks.Warning
    return [message(_fault(found), hint=_HINT, id="installation.E001" if _is_refused(found) else "installation.W001")]


@register(Tags.database)
def check_tables(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **options: Any
) -> list[CheckMessage]:
    """Nothing, or ImproperlyConfigured: `migrate` checks this before it changes anything."""
    if databases:
        require_tables_of_release()
    return []


def require_tables_of_release() -> None:
    """Raises ImproperlyConfigured for a database of before the first release, naming the commit to run first."""
    applied = MigrationRecorder(connection).applied_migrations().keys()
    if _FIRST_TABLES not in applied and any(app == "ledger" for app, _ in applied):
        raise ImproperlyConfigured(
            "This database is of a version before the first release. Run `manage.py migrate` (or `make run`) of commit "
            f"{_LEADS_HERE} once, then come back."
        )


def require_role_at_start() -> None:
    """ImproperlyConfigured for a process that has just started as a superuser or as the owner of the tables; what else
    it may do and should not is written to its log, and that a password is enough for the admin."""
    if _is_one_factor_enough():
        logger.warning("operator_second_factor", fault=_ONE_FACTOR)
    if (found := _found()) is None:
        return
    if _is_refused(found):
        raise ImproperlyConfigured(f"Ballast does not start:\n  - {_fault(found)} {_HINT}")
    logger.warning("database_role", fault=_fault(found), hint=_HINT)


def _is_one_factor_enough() -> bool:
    is_checked = settings.OPERATOR_SECOND_FACTOR or settings.OPERATOR_PROOF_HEADER
    return settings.IN_PRODUCTION and settings.BALLAST_ROLE not in ("migrate", "signer") and not is_checked


def _found() -> str | None:
    """Rights of this process beyond its role's. `migrate` is the owner's; without a database nothing is known."""
    if not settings.IN_PRODUCTION or settings.BALLAST_ROLE in ("migrate", "signer"):
        return None
    try:
        return too_much()
    except DatabaseError:
        return None


def _is_refused(found: str) -> bool:
    return found in (IS_SUPERUSER, OWNS_TABLES)


def _fault(found: str) -> str:
    return f"The user of DATABASE_URL {found}: whoever steals this process can change the ledger and the audit log."
