"""The command: what it says, and above all the code it exits with."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection

from merchants.ledger import invariants
from merchants.ledger.invariants import CouldNotCheck, Finding, Scope, Severity, invariant
from merchants.ledger.models import ReconcileOutcome, ReconcileRun
from merchants.ledger.posting import AccountRef
from merchants.ledger.reconciliation import ADVISORY_LOCK, FINDINGS_KEPT
from tests.ledger.books import COINS, FEES, available_account, move, payment_account, receivable_account

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def ledger_checks_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other apps' checks need rows of theirs to agree with; here the registry may also be added to."""
    ours = {known.code: known for known in invariants.registered() if known.check.__module__ == invariants.__name__}
    monkeypatch.setattr(invariants, "_registry", ours)


@pytest.fixture
def books(db: None) -> None:
    move(100, debit=COINS, credit=available_account())
    move(40, debit=COINS, credit=payment_account())


def run(*arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of one run."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("reconcile", *arguments, stdout=out, stderr=err, no_color=True)
    except SystemExit as stop:
        return int(stop.code or 0), out.getvalue(), err.getvalue()
    except CommandError as error:
        return error.returncode, out.getvalue(), f"{err.getvalue()}{error}"
    return 0, out.getvalue(), err.getvalue()


def forge_balance(amount: int = 1) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ledger_account SET balance = balance + %s WHERE kind = 'chain:deposit'", [amount])


def test_clean_books_exit_with_0(books: None) -> None:
    code, out, err = run()
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "Reconciling sandbox and production, all networks, everything"
    assert [line.split()[:2] for line in lines[1:-1]] == [
        [code, "ok"] for code in ("I1", "I2", "I3", "I4", "I5", "I14")
    ]
    assert lines[-1].startswith("Clean: 0 errors, 0 warnings in 6 checks")


def test_a_warning_exits_with_1(books: None) -> None:
    move(10, debit=receivable_account(), credit=COINS)
    code, out, _ = run()
    assert code == 1
    assert "warning: sandbox ethereum USDC" in out
    assert "Warnings: 0 errors, 1 warnings" in out


def test_a_discrepancy_exits_with_2_and_says_what_to_do(books: None) -> None:
    forge_balance()
    code, out, _ = run()
    assert code == 2
    assert "I3    1 error" in out
    assert "error: sandbox ethereum USDC chain:deposit\n            expected 140, found 141 (+1)\n" in out
    assert "→ if I1 is clean the entries are right" in out


def test_a_discrepancy_outweighs_a_warning(books: None) -> None:
    move(10, debit=receivable_account(), credit=COINS)
    move(5, debit=FEES, credit=available_account(), environment="production")
    code, out, _ = run()
    assert code == 2
    assert "1 error, 1 warning" in out


def test_a_check_that_crashes_exits_with_3_and_lets_the_others_finish(books: None) -> None:
    forge_balance()

    @invariant("I0", "nothing is divided by zero")
    def crashes(scope: Scope) -> Iterator[Finding]:
        yield from (Finding("x", 0, 1, "") for _ in scope.rows("SELECT 1 / 0"))

    code, out, _ = run()
    assert code == 3
    assert "I0    could not finish" in out
    assert "DataError: division by zero" in out
    assert "I3    1 error" in out
    assert "Could not finish: 1 errors" in out


def test_a_check_that_could_not_be_made_exits_with_3(books: None) -> None:
    @invariant("I0", "the chain agrees")
    def lacks_a_provider(scope: Scope) -> Iterator[Finding]:
        yield from ()
        raise CouldNotCheck("no provider answered")

    code, out, _ = run()
    assert code == 3
    assert "no provider answered" in out


def test_a_lost_database_connection_exits_with_3(books: None) -> None:
    @invariant("I0", "the server stays up")
    def loses_its_connection(scope: Scope) -> Iterator[Finding]:
        yield from (Finding("x", 0, 1, "") for _ in scope.rows("SELECT pg_terminate_backend(pg_backend_pid())"))

    code, out, _ = run()
    assert code == 3
    assert "Could not finish" in out
    assert ReconcileRun.objects.get().outcome == ReconcileOutcome.UNFINISHED


def test_only_one_runs_at_a_time(books: None) -> None:
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(hashtext(%s))", [ADVISORY_LOCK])
        code, _, err = run()
        assert (code, err) == (3, "another reconcile is running")
    finally:
        other.close()
    assert run()[0] == 0
    assert sorted(ReconcileRun.objects.values_list("outcome", flat=True)) == ["clean", "unfinished"]


def test_checks_cannot_write(books: None) -> None:
    @invariant("I0", "checks only read")
    def writes(scope: Scope) -> Iterator[Finding]:
        forge_balance()
        yield from ()

    code, out, _ = run()
    assert code == 3
    assert "cannot execute UPDATE in a read-only transaction" in out


def test_the_checks_see_one_snapshot(books: None) -> None:
    seen: list[int] = []

    def count_entries(scope: Scope) -> Iterator[Finding]:
        seen.extend(count for (count,) in scope.rows("SELECT count(*) FROM ledger_entry"))
        yield from ()

    @invariant("I0a", "first look")
    def looks_and_lets_another_post(scope: Scope) -> Iterator[Finding]:
        yield from count_entries(scope)
        other = connection.copy()
        with other.cursor() as cursor:
            cursor.execute("SET session_replication_role = replica")
            cursor.execute("INSERT INTO ledger_entry (posting_id, account_id, amount) VALUES (gen_random_uuid(), 1, 1)")
        other.close()

    invariant("I0b", "second look")(count_entries)
    run()
    assert seen == [4, 4]


class TestOptions:
    def test_one_environment(self, books: None) -> None:
        forge_balance()
        assert run("--env", "production")[0] == 0
        assert run("--env", "sandbox")[0] == 2

    def test_one_network(self, books: None) -> None:
        move(1, debit=AccountRef("stellar", "USDC", "chain:deposit"), credit=available_account(network="stellar"))
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

    @pytest.mark.parametrize("arguments", [["--env", "staging"], ["--since", "yesterday"]])
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


def test_a_run_is_kept_with_its_first_findings(books: None) -> None:
    @invariant("I0", "there are never many", severity=Severity.WARNING)
    def finds_many(scope: Scope) -> Iterator[Finding]:
        for number in range(FINDINGS_KEPT + 50):
            yield Finding(f"row {number}", 0, "one", "look")

    code, out, _ = run("--env", "sandbox")
    assert code == 1
    assert "150 warnings" in out
    assert "and 130 more; --json lists all" in out
    kept: Any = ReconcileRun.objects.get()
    assert (kept.outcome, kept.error_count, kept.warning_count) == ("warnings", 0, 150)
    assert kept.options == {"environments": ["sandbox"], "network": None, "since": None}
    assert len(kept.findings) == FINDINGS_KEPT
    assert kept.checks[0]["check"] == "I0"
    assert kept.finished_at >= kept.started_at
    assert str(kept).endswith(" warnings")


def test_progress_is_shown_to_a_terminal_only(books: None) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    err = Terminal()
    call_command("reconcile", stdout=io.StringIO(), stderr=err, no_color=True)
    assert "[1/6] I1 every posting is double entry" in err.getvalue()
    assert err.getvalue().endswith("\r\x1b[K")
