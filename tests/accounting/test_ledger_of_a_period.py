"""The ledger of a period as files: what is in it and what is not, and that beancount agrees to the last digit."""

from __future__ import annotations

import csv
import uuid
from datetime import UTC, date, datetime, timedelta
from io import StringIO
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from beancount import loader
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from config import ids
from config.environments import Environment
from merchants.ledger.chart import CHART, Group
from merchants.ledger.posting import AccountRef, Line, post
from payments.monitoring.accounting.files import account_name, balances_csv, beancount, journal_csv
from payments.monitoring.accounting.journal import postings
from payments.monitoring.accounting.periods import Days
from payments.monitoring.accounting.totals import CAPITAL, SummedAccount
from tests.accounting.clock import made_at
from tests.ledger.books import COINS, FEES, HOT_WALLET, PRODUCTION, SANDBOX, available_account, move, payment_account

pytestmark = pytest.mark.django_db

FEBRUARY = Days(date(2026, 2, 1), date(2026, 2, 28))
FIRST = datetime(2026, 2, 1, tzinfo=UTC)
LAST = datetime(2026, 2, 28, 23, 59, 59, 999_000, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
MERCHANT = uuid.UUID("01900000-0000-7000-8000-000000000001")


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(text)))


def journal(days: Days = FEBRUARY, environment: str = SANDBOX) -> list[dict[str, str]]:
    return rows("".join(journal_csv(environment, days)))


def trial_balance(days: Days = FEBRUARY) -> list[dict[str, str]]:
    return rows("".join(balances_csv(SANDBOX, days)))


def complaints(text: str) -> list[str]:
    """What beancount finds wrong with a file."""
    _, errors, _ = loader.load_string(text)
    return [str(error.message) for error in errors]


@pytest.fixture
def ledger() -> None:
    """A millisecond before February, in its first and last one, and the one after; and in the other environment."""
    for number, at in enumerate((FIRST - MILLISECOND, FIRST, LAST, LAST + MILLISECOND)):
        with made_at(at):
            move(10**number, debit=COINS, credit=available_account(str(MERCHANT)), reference=f"at:{number}")
    with made_at(FIRST):
        move(7, debit=COINS, credit=payment_account(), environment=PRODUCTION)


@pytest.mark.usefixtures("ledger")
def test_a_period_begins_and_ends_with_its_milliseconds_in_its_environment() -> None:
    assert [(row["date"], row["time"], row["reference"], row["debit"], row["credit"]) for row in journal()] == [
        ("2026-02-01", "2026-02-01T00:00:00.000Z", "at:1", "0.000010", ""),
        ("2026-02-01", "2026-02-01T00:00:00.000Z", "at:1", "", "0.000010"),
        ("2026-02-28", "2026-02-28T23:59:59.999Z", "at:2", "0.000100", ""),
        ("2026-02-28", "2026-02-28T23:59:59.999Z", "at:2", "", "0.000100"),
    ]
    debit, credit, *_ = journal()
    merchant = ids.MERCHANT.encode(MERCHANT)
    assert (debit["account"], debit["owner"], debit["contra_accounts"]) == (
        "chain:deposit",
        "",
        f"merchant:available {merchant}",
    )
    assert (credit["owner"], credit["contra_accounts"]) == (merchant, "chain:deposit")
    assert [(row["debit"], row["environment"]) for row in journal(environment=PRODUCTION)] == [
        ("0.000007", "production"),
        ("", "production"),
    ]


@pytest.mark.usefixtures("ledger")
def test_opening_and_entries_are_the_closing_of_each_account_and_the_opening_of_the_next_month() -> None:
    def told(days: Days) -> list[tuple[str, ...]]:
        return [
            (row["account"], row["merchant"], *(row[name] for name in ("opening", "debit", "credit", "closing")))
            for row in trial_balance(days)
        ]

    merchant = ids.MERCHANT.encode(MERCHANT)
    assert told(FEBRUARY) == [
        ("chain:deposit", "", "0.000001", "0.000110", "0.000000", "0.000111"),
        ("merchant:available", merchant, "-0.000001", "0.000000", "0.000110", "-0.000111"),
    ]
    assert told(Days(date(2026, 3, 1), date(2026, 3, 31)))[0][2:] == ("0.000111", "0.001000", "0.000000", "0.001111")
    assert told(Days(date(2027, 1, 1), date(2027, 1, 1)))[0][2:] == ("0.001111", "0.000000", "0.000000", "0.001111")
    assert told(Days(date(2020, 1, 1), date(2020, 1, 1))) == []


def test_days_are_those_of_their_zone_also_where_its_clocks_change() -> None:
    auckland = Days(date(2026, 4, 5), date(2026, 4, 5), ZoneInfo("Pacific/Auckland"))  # a day of 25 hours
    assert (auckland.start, auckland.end) == (
        datetime(2026, 4, 4, 11, tzinfo=UTC),
        datetime(2026, 4, 5, 12, tzinfo=UTC),
    )
    with pytest.raises(ValueError, match="before the first"):
        Days(date(2026, 2, 2), date(2026, 2, 1))


def test_it_is_read_in_parts_that_leave_nothing_out_and_repeat_nothing() -> None:
    with made_at(FIRST):  # all in one millisecond: parts end between keys that only chance orders
        made = {move(1, debit=COINS, credit=payment_account()).pk for _ in range(7)}
    for at_a_time in (1, 2, 3, 7, 8):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            found = [each.id for each in postings(SANDBOX, FEBRUARY.start, FEBRUARY.end, at_a_time=at_a_time)]
        assert (len(found), set(found)) == (7, made)
        assert found == sorted(found)
        assert sum("LIMIT" in each["sql"] for each in queries) == 7 // at_a_time + 1


@pytest.mark.usefixtures("ledger")
def test_beancount_agrees_and_finds_a_digit_that_is_wrong() -> None:
    with transaction.atomic(), made_at(LAST):
        post(
            height=1,
            environment=SANDBOX,
            kind="settlement_reserved",
            reference='of "this" \\ month',
            memo='said: "yes\\no"\nand more',
            lines=[
                Line(available_account(str(MERCHANT)), 110),
                Line(FEES, -10),
                Line(AccountRef("ethereum", "USDC", "payout", str(ids.new_uuid())), -100),
            ],
        )
        move(
            10**18 + 1, debit=AccountRef("polygon", "DAI", "chain:hot"), credit=AccountRef("polygon", "DAI", "treasury")
        )
    text = "".join(beancount(SANDBOX, FEBRUARY))
    assert complaints(text) == []
    assert text.count(" balance ") == 6
    for right, wrong in (
        ("  -0.000010 USDC\n", "  -0.000011 USDC\n"),
        ("1.000000000000000001 DAI", "1.000000000000000002 DAI"),
        ("  0.000111 ~ 0 USDC", "  0.000112 ~ 0 USDC"),
    ):
        assert right in text
        assert complaints(text.replace(right, wrong, 1))
    assert complaints("".join(beancount(SANDBOX, Days(date(2020, 1, 1), date(2020, 1, 1))))) == []


def test_every_account_of_the_chart_has_a_name_of_its_own_that_beancount_takes() -> None:
    accounts = [SummedAccount(kind, "ethereum", "USDC") for kind in CHART] + [
        SummedAccount("merchant:held", "stellar", "DAI", "mer_0z")
    ]
    names = {account_name(account) for account in accounts}
    assert len(names) == len(accounts)
    assert complaints("".join(f"2026-01-01 open {name} USDC\n" for name in names)) == []
    assert account_name(accounts[-1]) == "Liabilities:Stellar:Merchant-Held:Mer-0z"
    results = {kind.value for kind, rules in CHART.items() if rules.group is Group.EQUITY} - set(CAPITAL)
    assert {account_name(SummedAccount(kind, "x", "USDC")).split(":")[0] for kind in results} == {"Income", "Expenses"}


@pytest.mark.django_db(transaction=True)
def test_the_command_writes_a_file_and_overwrites_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with made_at(FIRST):
        move(5, debit=HOT_WALLET, credit=payment_account())
    period = ["--env", Environment.SANDBOX, "--from", "2026-02-01", "--to", "2026-02-28"]
    path = tmp_path / "february.csv"
    call_command("export_ledger", *period, "--out", str(path))
    assert path.read_bytes().decode() == "".join(journal_csv(SANDBOX, FEBRUARY))
    with pytest.raises(CommandError, match="File exists"):
        call_command("export_ledger", *period, "--out", str(path))
    capsys.readouterr()
    call_command("export_ledger", *period, "--format", "beancount", "--out", "-")
    assert complaints(capsys.readouterr().out) == []
    with pytest.raises(CommandError, match="--to is before --from"):
        call_command("export_ledger", "--env", SANDBOX, "--from", "2026-02-02", "--to", "2026-02-01")
