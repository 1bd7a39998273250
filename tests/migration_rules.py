"""`python -m tests.migration_rules`: whether new migrations let the processes of the version before go on.

While an installation is upgraded, the old code runs on the new tables (docs/upgrading.md). So a column that is added
has a default of the database or may be null, nothing is renamed or removed that old code uses, and no statement locks a
big table for as long as it takes to read all of it.
"""
# ruff: noqa: T201 - what it finds goes to standard output

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import Final

import django
from django.contrib.postgres import operations as postgres
from django.db.migrations import Migration, operations
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import NOT_PROVIDED, Field

from config.installation.migration_locks import locks_in, statements_in

FIRST: Final = ("0001_tables",)
"""The migrations that make the tables of the first release: no process of a version before runs on them."""

OURS: Final = ("config", "merchants", "payments", "refunds", "settlements", "webhooks")

BIG: Final = frozenset(
    {
        "payments_payment", "payments_deposit", "payments_discrepancy", "transfers_payout", "transfers_transfer",
        "transfers_envelope", "transfers_transferline", "refunds_refund", "payments_balancechange", "ledger_entry",
        "ledger_posting", "webhooks_event", "webhooks_delivery", "webhooks_attempt", "audit_loggedaction",
    }
)  # fmt: skip
"""Tables that have millions of rows where business is good."""


def faults_of(migration: Migration, state: ProjectState) -> Iterator[str]:
    """What is wrong with a migration, in words; `state` is that before it."""
    state = state.clone()
    for operation in migration.operations:
        parts = (
            operation.database_operations if isinstance(operation, operations.SeparateDatabaseAndState) else [operation]
        )
        for part in parts:
            yield from _faults_of(part, migration.app_label, state)
        operation.state_forwards(migration.app_label, state)


def _faults_of(operation: Operation, app: str, state: ProjectState) -> Iterator[str]:
    table = f"{app}_{getattr(operation, 'model_name', '')}".lower()
    match operation:
        case operations.AddField(field=field) if not _has_value_for_old_code(field):
            yield f"{operation.describe()}: old code writes rows without it; give it a db_default, or let it be null"
        case operations.RemoveField() | operations.DeleteModel():
            yield f"{operation.describe()}: old code reads it; remove it one release after nothing uses it"
        case operations.RenameField() | operations.RenameModel() | operations.AlterModelTable():
            yield f"{operation.describe()}: old code knows the old name; keep it in the database (db_column, db_table)"
        case operations.AlterField(model_name=model, name=name, field=field):
            known = state.models[app, model.lower()].fields[name]
            if known.null and not field.null:
                yield f"{operation.describe()}: old code may write null"
            if type(known) is not type(field) and table in BIG:
                yield f"{operation.describe()}: rewrites a big table"
        case operations.AddIndex() if not isinstance(operation, postgres.AddIndexConcurrently) and table in BIG:
            yield f"{operation.describe()}: use AddIndexConcurrently"
        case operations.AddConstraint() if table in BIG and not isinstance(operation, postgres.AddConstraintNotValid):
            yield f"{operation.describe()}: use AddConstraintNotValid, and ValidateConstraint in a migration of its own"
        case operations.RunSQL(sql=sql):
            for statement in (each for text in _statements(sql) for each in statements_in(text)):
                for lock in locks_in(statement):
                    if lock.table in BIG and lock.is_long:
                        yield f"SQL takes {lock}: build indexes CONCURRENTLY, add constraints NOT VALID"


def _has_value_for_old_code(field: Field[object, object]) -> bool:
    return field.null or field.db_default is not NOT_PROVIDED or bool(field.many_to_many)


def _statements(sql: str | Sequence[str | tuple[str, object]]) -> list[str]:
    if isinstance(sql, str):
        return [sql]
    return [each if isinstance(each, str) else each[0] for each in sql]


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    loader = MigrationLoader(None)
    faults = [
        f"{app}.{name}: {fault}"
        for (app, name), migration in sorted(loader.disk_migrations.items())
        if migration.__module__.partition(".")[0] in OURS and name not in FIRST and (app, name) in loader.graph.nodes
        for fault in faults_of(migration, loader.project_state((app, name), at_end=False))
    ]
    print("\n".join(faults) or "New migrations let the processes of the version before go on.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
