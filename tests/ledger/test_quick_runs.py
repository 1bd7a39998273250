"""What quick runs look at: what changed since the last run, a share of all else in turn, and what was found before."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, connections

from config import ids
from merchants.ledger import quick
from merchants.ledger.checking import Scope
from merchants.ledger.models import Posting, ReconcileRun
from merchants.ledger.quick import _changed_since, quick_scope
from tests.ledger.books import COINS, move, payment_account
from tests.ledger.reconciling import run, share_has

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("ledger_checks_only")]

ALL_IS_OLD = timedelta(seconds=-60)


def told(at: str, *, next_transaction: int, oldest_open: int) -> dict[str, Any]:
    return {"at": f"2026-11-30T{at}+00:00", "nextTransaction": next_transaction, "oldestOpen": oldest_open}


def test_what_was_open_in_the_snapshot_of_the_last_run_is_looked_for_from_before_it_began() -> None:
    first = told("10:00:00", next_transaction=100, oldest_open=100)
    second = told("10:05:00", next_transaction=120, oldest_open=110)
    third = told("10:10:00", next_transaction=130, oldest_open=110)
    fourth = told("10:15:00", next_transaction=140, oldest_open=141)
    for runs, since in (
        ([first], "10:00:00"),
        ([second, first], "10:00:00"),
        ([third, second, first], "10:00:00"),
        ([third, second], None),
        ([fourth, third, second, first], "10:15:00"),
    ):
        expected = since and datetime.fromisoformat(f"2026-11-30T{since}+00:00") - quick.CLOCKS_WITHIN
        assert _changed_since(runs) == expected


def test_a_transaction_that_stays_open_over_runs_is_not_passed_over(
    books: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick, "CLOCKS_WITHIN", timedelta())
    run("--full")
    other = connections["default"].copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("BEGIN; SELECT pg_current_xact_id(); SELECT clock_timestamp()")
        began = datetime.now(UTC)
        run("--quick")
        run("--quick")
        since = quick_scope().since
        assert since is not None
        assert since < began
    finally:
        other.close()


def test_shares_follow_each_other_until_everything_was_looked_at(books: None, monkeypatch: pytest.MonkeyPatch) -> None:
    share_has(1, monkeypatch)
    move(7, debit=COINS, credit=payment_account())
    keys = sorted(Posting.objects.values_list("pk", flat=True))
    assert len(keys) > 2
    for _ in keys:
        assert run("--quick")[0] == 0
    seen = [tuple(each.options["share"]) for each in ReconcileRun.objects.order_by("id")]
    assert seen == list(zip(map(str, [ids.FIRST_KEY, *keys[1:]]), map(str, [*keys[1:], ids.LAST_KEY]), strict=True))
    assert quick_scope().share == (ids.FIRST_KEY, keys[1])


def test_a_run_that_did_not_end_or_was_limited_is_as_if_it_had_not_been(
    books: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    share_has(1, monkeypatch)
    run("--quick")
    share = quick_scope().share
    for limits in (["--env", "sandbox"], ["--network", "ethereum"], ["--no-chain"]):
        run("--quick", *limits)
        assert quick_scope().share == share
    with monkeypatch.context() as broken:
        broken.setattr(Scope, "keys", lambda *_: "1 / 0 = 1")
        assert run("--quick")[0] == 3
    assert quick_scope().share == share


def test_what_was_found_in_old_rows_is_found_until_it_is_put_right(
    books: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    share_has(1, monkeypatch)
    for name in ("CLOCKS_WITHIN", "UNKNOWN_LOOKS_BACK"):
        monkeypatch.setattr(quick, name, ALL_IS_OLD)
    move(7, debit=COINS, credit=payment_account())
    second = sorted(Posting.objects.values_list("pk", flat=True))[1]
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute("UPDATE ledger_entry SET amount = amount * 2 WHERE posting_id = %s AND amount > 0", [second])
    for _ in range(5):
        run("--quick")
    runs = ReconcileRun.objects.order_by("id")
    found = [{record["key"] for record in each.findings if record["check"] == "I1"} for each in runs]
    assert found == [set(), *[{str(second)}] * 4]
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ledger_entry SET amount = amount / 2 WHERE posting_id = %s AND amount > 0", [second])
        cursor.execute("SET session_replication_role = origin")
    assert run("--quick")[0] == 0
