"""The rules of migrations find what broke the processes of the version before, in migrations from before the rules."""

from __future__ import annotations

import pytest
from django.db.migrations.loader import MigrationLoader

from tests.migration_rules import faults_of, main


def test_faults_of_before_are_found() -> None:
    loader = MigrationLoader(None)

    def found(app: str, number: str) -> str:
        [(key, migration)] = [
            each for each in loader.disk_migrations.items() if each[0][0] == app and each[0][1][:4] == number
        ]
        return "; ".join(faults_of(migration, loader.project_state(key, at_end=False)))

    for app, number, words in (
        ("payments", "0011", "Add field conflicting_memo to deposit: old code writes rows without it"),
        ("payments", "0013", "Add field inner_hash to deposit: old code writes rows without it"),
        ("transfers", "0005", "Add field channel to transfer: old code writes rows without it"),
        ("transfers", "0012", "Add field intent_mac to payout: old code writes rows without it"),
        ("payments", "0014", "SQL locks a big table"),
        ("payments", "0016", "use AddIndexConcurrently"),
    ):
        assert words in found(app, number), (app, number, found(app, number))
    assert found("payments", "0015") == ""  # indexes that are made concurrently


def test_new_migrations_keep_the_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0, capsys.readouterr().out
