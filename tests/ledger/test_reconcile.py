"""The command: what it says, and above all the code it exits with."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from django.core.management import call_command
from django.db import connection

from config.database.advisory_locks import LockClass
from merchants.ledger.checking import CouldNotCheck, Finding, Invariant, Scope, Severity, invariant
from merchants.ledger.management.commands import reconcile as command
from merchants.ledger.models import ReconcileOutcome, ReconcileRun
from merchants.ledger.reconciliation import FINDINGS_KEPT, ONE_AT_A_TIME
from merchants.ledger.unexplained import Explained
from tests.ledger.books import COINS, FEES, available_account, move, receivable_account
from tests.ledger.reconciling import STELLAR_COINS, forge_balance, run, stopped

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("ledger_checks_only")]


def test_clean_books_exit_with_0(books: None) -> None:
    code, out, err = run()
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "Reconciling sandbox and production, all networks, everything"
    assert [line.split()[:2] for line in lines[1:-2]] == [
        [code, "ok"] for code in ("I1", "I2", "I3", "I3d", "I4", "I5", "I14", "I20")
    ]
    assert lines[-2] == "Value explained: 100.0000 % of the coins in the ledger; 0 unexplained"
    assert lines[-1].startswith("Clean: 0 errors, 0 warnings in 8 checks")


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


class Another:
    """A reconcile in another process, which ends when the one under test has waited for it `waits` times."""

    def __init__(self, waits: int) -> None:
        self.waits = waits
        self._session = connection.copy()
        self._run("SELECT pg_advisory_lock(%s, %s)", LockClass.TASK, crc32(ONE_AT_A_TIME.encode()) & 0x7FFFFFFF)

    def sleep(self, seconds: float) -> None:
        self.waits -= 1
        if self.waits == 0:
            self._give_back()

    def close(self) -> None:
        self._give_back()
        self._session.close()

    def _give_back(self) -> None:
        """Gives the lock back at once; the server may take a moment to see that a session was closed."""
        self._run("SELECT pg_advisory_unlock_all()")

    def _run(self, query: str, *values: int) -> None:
        with self._session.cursor() as cursor:
            cursor.execute(query, values)


def test_one_runs_at_a_time_and_the_second_waits_for_it(books: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Another(waits=2)) as another:
        monkeypatch.setattr(time, "sleep", another.sleep)
        code, out, err = run()
    assert (code, err, another.waits) == (0, "", 0)
    assert out.splitlines()[0] == "Another reconcile is running: this one begins when it has ended"
    assert [run.outcome for run in ReconcileRun.objects.all()] == ["clean"]


def test_a_run_that_does_not_end_is_not_waited_for_for_ever(
    books: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(command, "WAITS_SECONDS", 0)
    (before := tmp_path / "findings.jsonl").write_text("of the run before")
    with closing(Another(waits=1)):
        code, _, err = run("--json", str(before))
    assert (code, err) == (3, "another reconcile is running, for more than 0 seconds")
    assert before.read_text() == "of the run before"
    assert not ReconcileRun.objects.exists()


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


class TestValueExplained:
    def test_the_worst_coin_is_what_counts(self, books: None) -> None:
        move(10**9, debit=STELLAR_COINS, credit=available_account(network="stellar"))
        forge_balance()
        _, out, _ = run("--json", "-")
        summary = json.loads(out.splitlines()[-1])
        # Of 141 on ethereum 1, and of the 10^9 + 1 on stellar 1: what nobody explains is never rounded away.
        assert summary["valueExplained"] == "99.2907"
        assert summary["unexplainedCount"] == 2
        assert [(pot["network"], pot["amount"], pot["valueExplained"]) for pot in summary["unexplained"]] == [
            ("ethereum", "1", "99.2907"),
            ("stellar", "1", "99.9999"),
        ]

    def test_a_loss_found_by_several_checks_is_one_loss(self, books: None) -> None:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE ledger_account SET balance = 70 WHERE kind = 'chain:deposit'")
        _, out, _ = run()
        # I3 and I14 both miss 70: half of what is owed, all of what is still there.
        assert "Value explained: 0.0000 % of the coins in the ledger; 2 unexplained\n" in out
        assert "sandbox ethereum USDC: 70 base units, 0.0000 % explained\n" in out

    def test_what_is_missing_in_two_places_is_added_up(self) -> None:
        explained = Explained()
        for code, missing in (("I11s", 400), ("I12d", 400), ("I12w", 396)):
            found = Finding(
                "of a coin", 0, 0, "look", delta=-missing, environment="sandbox", network="ethereum", asset="USDC"
            )
            explained.take(Invariant(code, "", Severity.ERROR, lambda _: iter(())), found)
        assert [each["amount"] for each in explained.summary(is_complete=True)["unexplained"]] == ["796"]


class TestChains:
    """What a run does with checks that ask a chain."""

    @pytest.fixture
    def asked(self, books: None) -> list[str]:
        asked: list[str] = []

        def look(scope: Scope) -> str:
            with connection.cursor() as cursor:
                cursor.execute("SELECT current_setting('transaction_read_only')")
                asked.append(f"looked, read only {cursor.fetchone()[0]}")
            return "the sky"

        @invariant("I0", "the chain agrees", reads_chain=True, observers=(look,))
        def asks(scope: Scope) -> Iterator[Finding]:
            asked.append(f"checked {scope.observed(look)} at {scope.at_block}")
            yield from ()

        return asked

    def test_outside_is_looked_at_before_the_snapshot(self, asked: list[str]) -> None:
        assert run()[0] == 0
        assert asked == ["looked, read only off", "checked the sky at None"]

    def test_a_check_left_out_is_not_clean(self, asked: list[str]) -> None:
        code, out, _ = run("--no-chain")
        assert (code, asked) == (1, [])
        assert "asking no chain" in out.splitlines()[0]
        assert "warning: the chains\n            expected asked, found left out\n" in out
        assert stopped() == []

    def test_a_height_is_for_one_network(self, asked: list[str]) -> None:
        code, out, _ = run("--network", "ethereum", "--at-block", "7")
        assert code == 0
        assert "wallets at block 7" in out.splitlines()[0]
        assert asked[-1] == "checked the sky at 7"
        code, _, err = run("--at-block", "7")
        assert (code, err) == (3, "--at-block needs a --network, and to ask it")
        assert run("--network", "ethereum", "--at-block", "7", "--no-chain")[0] == 3

    def test_an_observer_that_fails_fails_its_checks_alone(self, books: None) -> None:
        def look(scope: Scope) -> None:
            raise CouldNotCheck("no provider answered")

        @invariant("I0", "the chain agrees", reads_chain=True, observers=(look,))
        def asks(scope: Scope) -> Iterator[Finding]:
            scope.observed(look)
            yield from ()

        code, out, _ = run()
        assert code == 3
        assert out.count("no provider answered") == 1
        assert "I14   ok" in out


def test_a_run_is_kept_with_its_first_findings(books: None) -> None:
    @invariant("I0", "there are never many", severity=Severity.WARNING)
    def finds_many(scope: Scope) -> Iterator[Finding]:
        for number in range(FINDINGS_KEPT + 50):
            yield Finding(f"row {number}", 0, "one", "look")

    code, out, _ = run("--env", "sandbox")
    assert code == 1
    assert "550 warnings" in out
    assert "and 530 more; --json lists all" in out
    kept: Any = ReconcileRun.objects.get()
    assert (kept.outcome, kept.error_count, kept.warning_count) == ("warnings", 0, 550)
    assert kept.options.pop("readUntil")["oldestOpen"] > 0
    assert kept.options == {
        "environments": ["sandbox"],
        "network": None,
        "since": None,
        "share": None,
        "atBlock": None,
        "noChain": False,
    }
    assert len(kept.findings) == FINDINGS_KEPT
    assert kept.checks[0]["check"] == "I0"
    assert kept.finished_at >= kept.started_at
    assert str(kept).startswith("Warnings, ")


def test_progress_is_shown_to_a_terminal_only(books: None) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    err = Terminal()
    call_command("reconcile", stdout=io.StringIO(), stderr=err, no_color=True)
    assert "[1/8] I1 every posting is double entry" in err.getvalue()
    assert err.getvalue().endswith("\r\x1b[K")
