"""What a run of the command can be told to look at, and to print as JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection

from merchants.ledger.models import ReconcileRun
from tests.ledger.books import available_account, move
from tests.ledger.reconciling import STELLAR_COINS, forge_balance, run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("ledger_checks_only")]


class TestOptions:
    def test_one_environment(self, books: None) -> None:
        forge_balance()
        assert run("--env", "production")[0] == 0
        assert run("--env", "sandbox")[0] == 2

    def test_one_network(self, books: None) -> None:
        move(1, debit=STELLAR_COINS, credit=available_account(network="stellar"))
        with connection.cursor() as cursor:
            cursor.execute("UPDATE ledger_account SET balance = 2 WHERE kind = 'chain:deposit' AND network = 'stellar'")
        assert run("--network", "stellar")[0] == 2
        assert run("--network", "ethereum")[0] == 0

    def test_a_network_nobody_knows_is_not_clean(self, books: None) -> None:
        code, _, err = run("--network", "etherium")
        assert (code, err) == (3, "no account is on a network named 'etherium'")

    def test_quick_and_since_look_at_what_was_touched(self, books: None) -> None:
        forge_balance()
        assert run("--quick")[0] == 2
        assert run("--since", "2020-01-01")[0] == 2
        code, out, _ = run("--since", "2100-01-01T00:00:00+00:00")
        assert code == 0
        assert "touched since 2100-01-01T00:00:00+00:00" in out

    def test_full_is_the_default(self, books: None) -> None:
        assert run("--full")[1].splitlines()[0] == run()[1].splitlines()[0]

    @pytest.mark.parametrize("arguments", [["--env", "staging"], ["--since", "yesterday"], ["--at-block", "-1"]])
    def test_a_mistyped_command_line_is_not_a_discrepancy(self, arguments: list[str]) -> None:
        finished = subprocess.run(
            [sys.executable, "manage.py", "reconcile", *arguments],
            cwd=settings.BASE_DIR,
            capture_output=True,
            text=True,
            check=False,
        )
        assert finished.returncode == 3
        assert finished.stderr.startswith("reconcile: ")


class TestJson:
    def test_lines_to_standard_output_and_the_table_beside_it(self, books: None) -> None:
        forge_balance(2**80)
        code, out, err = run("--json", "-")
        assert code == 2
        *findings, summary = [json.loads(line) for line in out.splitlines()]
        assert findings == [
            {
                "check": "I3",
                "severity": "error",
                "subject": "sandbox ethereum USDC chain:deposit",
                "expected": "140",
                "actual": str(140 + 2**80),
                "delta": str(2**80),
                "proposal": "if I1 is clean the entries are right: find out who wrote the balance, then restore it",
                "environment": "sandbox",
                "network": "ethereum",
                "asset": "USDC",
                "identity": "sandbox ethereum USDC chain:deposit",
                "figure": str(2**80),
                "key": None,
                "id": findings[0]["id"],
                "explained": None,
            }
        ]
        assert (summary["summary"], summary["exitCode"], summary["errors"]) == ("discrepancy", 2, 1)
        assert summary["run"] == str(ReconcileRun.objects.get().pk)
        assert "Discrepancy: 1 errors" in err

    def test_lines_to_a_file(self, books: None, tmp_path: Path) -> None:
        target = tmp_path / "findings.jsonl"
        code, out, _ = run("--json", str(target))
        assert code == 0
        assert json.loads(target.read_text())["summary"] == "clean"
        assert "Clean" in out

    def test_a_file_that_cannot_be_written_exits_with_3(self, books: None, tmp_path: Path) -> None:
        code, _, err = run("--json", str(tmp_path / "missing" / "findings.jsonl"))
        assert code == 3
        assert err.startswith("could not finish: FileNotFoundError")
