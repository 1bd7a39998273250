"""The sums of days: exact whoever writes entries and whenever."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from config import ids
from merchants.ledger.balances import balance
from merchants.ledger.chart import CHART, Owner
from merchants.ledger.checking import Finding, Scope, Severity, registered
from merchants.ledger.day_sums import HAS_SUMS, sums_before
from merchants.ledger.models import Account, DaySum, Entry
from tests.accounting.clock import made_at
from tests.ledger.books import COINS, FEES, PRODUCTION, SANDBOX, available_account, balance_at, move, payment_account

pytestmark = pytest.mark.django_db

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
MERCHANT = "00000000-0000-7000-8000-00000000000a"


def days(account: Account) -> dict[str, int]:
    return {str(each.day): int(each.amount) for each in DaySum.objects.filter(account=account).order_by("day")}


def differences(scope: Scope | None = None) -> list[Finding]:
    [check] = [each.check for each in registered() if each.code == "I3d"]
    return list(check(scope or Scope()))


@contextmanager
def without_trigger() -> Iterator[None]:
    """Entries are written as they were before there were sums."""
    with connection.cursor() as cursor:
        for change in ("DISABLE", "ENABLE"):
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # a table with checks to come cannot be altered
            cursor.execute(f"ALTER TABLE ledger_entry {change} TRIGGER entry_day_sums")
            cursor.execute("SET CONSTRAINTS ALL DEFERRED")
            if change == "DISABLE":
                yield


def move_some(number: int, *, seed: int = 1) -> None:
    """Postings of two merchants, a payment and the house, in any order of time: some are made after later ones."""
    chance = random.Random(seed)
    own = [available_account(MERCHANT), available_account(MERCHANT, asset="USDT"), available_account()]
    own += [payment_account(MERCHANT[:-1] + "b"), FEES]
    for _ in range(number):
        with made_at(NEW_YEAR + timedelta(milliseconds=chance.randrange(5 * 86_400_000))):
            chosen = chance.choice(own)
            coins = COINS if chosen.asset == "USDC" else type(COINS)("ethereum", "USDT", "chain:deposit")
            move(chance.randrange(1, 10**20), debit=coins, credit=chosen)


def instants() -> Iterator[datetime]:
    """Midnights, the milliseconds around them, and times of day."""
    for day in range(-1, 7):
        for hours in (0, 7.5, 23.99):
            for milliseconds in (-1, 0, 1):
                yield NEW_YEAR + timedelta(days=day, hours=hours, milliseconds=milliseconds)


def assert_exact() -> None:
    """What is read at each instant is the sum of the entries until then, one by one."""
    asked = list(instants())
    entries: dict[int, list[tuple[uuid.UUID, int]]] = {
        account: [] for account in Account.objects.values_list("pk", flat=True)
    }
    for account, posting, amount in Entry.objects.values_list("account", "posting", "amount"):
        entries[account].append((posting, int(amount)))
    for instant, sums in zip(asked, sums_before(list(entries), *asked), strict=True):
        end = ids.first_uuid_at(instant)
        assert {account: sums.get(account, 0) for account in entries} == {
            account: sum(amount for posting, amount in each if posting < end) for account, each in entries.items()
        }
    assert differences() == []


def test_a_day_is_summed_as_its_entries_are_written() -> None:
    own = available_account(MERCHANT)
    for at, amount in ((0, 5), (86_399_999, 7), (86_400_000, 11), (3, 13)):  # the last one late
        with made_at(NEW_YEAR + timedelta(milliseconds=at)):
            move(amount, debit=COINS, credit=own)
    account = Account.objects.get(kind="merchant:available")
    assert days(account) == {"2026-01-01": -25, "2026-01-02": -11}
    assert days(Account.objects.get(kind="chain:deposit")) == {"2026-01-01": 25, "2026-01-02": 11}
    assert balance_at(own, NEW_YEAR + timedelta(days=1), environment=SANDBOX) == 25
    assert balance_at(own, NEW_YEAR + timedelta(days=1, milliseconds=1), environment=SANDBOX) == 36
    assert balance_at(own, NEW_YEAR, environment=SANDBOX) == 0
    assert balance_at(own, NEW_YEAR + timedelta(days=9), environment=SANDBOX) == balance(own, environment=SANDBOX)
    assert balance_at(own, NEW_YEAR + timedelta(days=9), environment=PRODUCTION) == 0


def test_sums_are_kept_of_what_is_a_merchants_or_the_houses() -> None:
    for kind, rules in CHART.items():
        Account.objects.create(
            environment=SANDBOX,
            network="ethereum",
            asset="USDC",
            kind=kind,
            owner="" if rules.owner is Owner.NOBODY else MERCHANT,
        )
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT kind FROM ledger_account AS account WHERE {HAS_SUMS}")  # noqa: S608 - a constant
        found = {kind for (kind,) in cursor.fetchall()}
    assert found == {kind for kind, rules in CHART.items() if rules.owner in (Owner.NOBODY, Owner.MERCHANT)}


def test_nothing_before_the_first_posting_and_nothing_of_no_account() -> None:
    assert sums_before([], NEW_YEAR) == [{}]
    assert balance_at(available_account(MERCHANT), NEW_YEAR, environment=SANDBOX) == 0


def test_any_history_is_summed_exactly_at_any_instant() -> None:
    move_some(60)
    assert DaySum.objects.exists()
    assert_exact()


def test_a_wrong_sum_is_found_and_recount_puts_it_right() -> None:
    move_some(20)
    wrong = DaySum.objects.filter(account__kind="merchant:available").earliest("id")
    right = int(wrong.amount)
    DaySum.objects.filter(pk=wrong.pk).update(amount=right - 3)
    [finding] = differences()
    assert (finding.expected, finding.actual, finding.delta) == (-right, -right + 3, 3)
    assert str(wrong.day) in finding.subject
    assert MERCHANT in finding.subject or wrong.account.owner in finding.subject
    assert (finding.environment, finding.network) == (SANDBOX, "ethereum")
    told = StringIO()
    call_command("recount", "I3d", stdout=told)
    assert told.getvalue() == "I3d: 1 figures were wrong and are corrected.\n"
    with pytest.raises(CommandError, match=r"I1: choose of .*I3d"):
        call_command("recount", "I1")
    assert_exact()
    wrong = DaySum.objects.get(account=wrong.account, day=wrong.day)
    assert int(wrong.amount) == right
    assert differences() == []


def test_sums_that_are_missing_invented_or_not_written_are_found() -> None:
    move_some(20)
    lost = DaySum.objects.earliest("id")
    lost.delete()
    assert [each.actual for each in differences()] == [0]
    lost.save(force_insert=True)
    invented = DaySum.objects.create(account=lost.account, day="2020-02-02", amount=1)
    assert [each.expected for each in differences()] == [0]
    invented.delete()
    with without_trigger():
        move(9, debit=COINS, credit=FEES)
    assert sorted(abs(each.delta or 0) for each in differences()) == [9, 9]


def test_a_quick_run_compares_the_days_that_were_touched() -> None:
    move_some(20)
    day = DaySum.objects.filter(account__kind="chain:deposit", day="2026-01-03").earliest("id")
    DaySum.objects.filter(pk=day.pk).update(amount=0)
    assert len(differences(Scope(since=NEW_YEAR + timedelta(days=2, hours=20)))) == 1
    assert differences(Scope(since=NEW_YEAR + timedelta(days=3, hours=1))) == []
    assert differences(Scope(environments=("production",))) == []
    assert differences(Scope(network="polygon")) == []


def test_a_wrong_sum_stops_no_payouts() -> None:
    [severity] = [each.severity for each in registered() if each.code == "I3d"]
    assert severity is Severity.WARNING
