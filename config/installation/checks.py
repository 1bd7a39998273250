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
    "docs/operations.md has the steps under Roles of PostgreSQL."
)
_FINISHES = "64b523b"
"""The last commit that finishes books of earlier versions."""
_NEEDS_NONE = ("ledger", "0016_no_unsummed_entries")
_FINISHED_SINCE = {("ledger", "0013_day_sums"), ("payments", "0005_passed_over")}
_UNFINISHED = {
    "entries are in no day's sum yet": "ledger_unsummedentries",
    "sweeps have not been read address by address": "payments_sweep WHERE booked_at IS NOT NULL AND NOT is_itemised",
    "merchants have money available beside a debt (I20)": """ledger_account AS available
        JOIN ledger_account AS receivable USING (environment, network, asset, owner)
        WHERE available.kind = 'merchant:available' AND receivable.kind = 'merchant:receivable'
            AND available.balance < 0 AND receivable.balance > 0""",
}
_ONE_FACTOR = "OPERATOR_SECOND_FACTOR is false: a password alone lets an operator into the admin."


@register(deploy=True)
def check_second_factor(app_configs: Sequence[AppConfig] | None, **options: Any) -> list[CheckMessage]:
    """A warning, since the operator has said so."""
    return [checks.Warning(_ONE_FACTOR, id="installation.W002")] if _is_one_factor_enough() else []


@register(deploy=True)
def check_database_role(app_configs: Sequence[AppConfig] | None, **options: Any) -> list[CheckMessage]:
    if (found := _found()) is None:
        return []
    message = checks.Error if _is_refused(found) else checks.Warning
    return [message(_fault(found), hint=_HINT, id="installation.E001" if _is_refused(found) else "installation.W001")]


@register(Tags.database)
def check_books(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **options: Any
) -> list[CheckMessage]:
    """What `migrate` does first."""
    if databases:
        require_finished_books()
    return []


def require_finished_books() -> None:
    """ImproperlyConfigured for a database that has yet to be brought up to date, and that an earlier commit must finish
    before."""
    applied = MigrationRecorder(connection).applied_migrations().keys()
    if not applied or _NEEDS_NONE in applied:
        return
    found = [] if applied >= _FINISHED_SINCE else ["it is of a version before"]
    with connection.cursor() as cursor:
        for fault, rows in _UNFINISHED.items() if not found else ():
            cursor.execute(f"SELECT FROM {rows} LIMIT 1")
            found += [fault] if cursor.rowcount else []
    if found:
        raise ImproperlyConfigured(
            f"This database cannot be brought up to date yet: {', '.join(found)}. Run commit {_FINISHES} with its "
            "workers and beat until `manage.py reconcile` there is clean, then come back."
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
    is_asked = settings.OPERATOR_SECOND_FACTOR or settings.OPERATOR_PROOF_HEADER
    return settings.IN_PRODUCTION and settings.BALLAST_ROLE not in ("migrate", "signer") and not is_asked


def _found() -> str | None:
    """What this process may do and should not. `migrate` is the owner's; without a database nothing is known."""
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
