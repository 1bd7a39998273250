"""The rules of migrations find what would break the processes of the version before."""

from __future__ import annotations

import pytest
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import models
from django.db.migrations import AddField, AddIndex, Migration, RemoveField, RunSQL
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation

from tests.migration_rules import faults_of, main

INDEX = models.Index(fields=["status"], name="payment_by_status")


@pytest.mark.parametrize(
    ("operation", "fault"),
    [
        (AddField("deposit", "note", models.TextField(default="")), "Add field note to deposit: old code writes rows"),
        (AddField("deposit", "note", models.TextField(default="", db_default="")), ""),
        (AddField("deposit", "noted_at", models.DateTimeField(null=True)), ""),
        (RemoveField("deposit", "height"), "Remove field height from deposit: old code reads it"),
        (RunSQL("LOCK TABLE payments_payment"), "SQL takes ACCESS EXCLUSIVE on payments_payment, until"),
        (
            RunSQL("CREATE INDEX by_status ON payments_payment (status)"),
            "SQL takes SHARE on payments_payment",
        ),
        (RunSQL("CREATE INDEX CONCURRENTLY by_status ON payments_payment (status)"), ""),
        (RunSQL("ALTER TABLE payments_payment ADD CONSTRAINT a CHECK (due > 0)"), "SQL takes ACCESS EXCLUSIVE"),
        (RunSQL("ALTER TABLE payments_payment ADD CONSTRAINT a CHECK (due > 0) NOT VALID"), ""),
        (AddIndex("payment", INDEX), "use AddIndexConcurrently"),
        (AddIndexConcurrently("payment", INDEX), ""),
    ],
)
def test_a_migration_that_old_code_does_not_survive_is_found(operation: Operation, fault: str) -> None:
    migration = type("Later", (Migration,), {"operations": [operation]})("0003_later", "payments")
    found = "; ".join(faults_of(migration, MigrationLoader(None).project_state()))
    assert fault in found
    assert bool(found) == bool(fault)


def test_new_migrations_keep_the_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0, capsys.readouterr().out
