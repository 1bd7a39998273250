"""The house's result: what it earned and spent in each month, coin by coin, and nothing that is a merchant's."""

from __future__ import annotations

import csv
from dataclasses import replace
from datetime import UTC, date, datetime
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from merchants.ledger.posting import AccountRef
from payments.monitoring.accounting.result import months_between, result_by_account, result_csv, result_of
from payments.monitoring.accounting.totals import balances_at
from tests.accounting.clock import made_at
from tests.factories import make_user
from tests.ledger.books import COINS, FEES, PRODUCTION, SANDBOX, available_account, move

pytestmark = pytest.mark.django_db

PAGE = reverse("operators_result")
ASKED = {"environment": "sandbox", "first": "2026-02-11", "last": "2026-03-02"}
OWNER = "01900000-0000-7000-8000-000000000001"


def own(kind: str, asset: str = "USDC", network: str = "ethereum") -> AccountRef:
    return AccountRef(network, asset, kind)


@pytest.fixture(autouse=True)
def ledger() -> None:
    """Fees, a fee given back, network fees, a loss, rounding and coins put in, around the borders of February."""
    merchant = available_account(OWNER)
    for at, amount, debit, credit in (
        ("2026-01-31T23:59:59.999", 1_000_000, COINS, FEES),
        ("2026-02-01T00:00:00.000", 5_000_000, COINS, FEES),
        ("2026-02-02T00:00:00.000", 30_000_000, COINS, merchant),
        ("2026-02-03T00:00:00.000", 500_000, FEES, merchant),
        ("2026-02-04T00:00:00.000", 2_000_000, own("loss"), COINS),
        ("2026-02-05T00:00:00.000", 7, COINS, own("rounding")),
        ("2026-02-06T00:00:00.000", 10**18, own("gas", "ETH"), own("treasury", "ETH")),
        ("2026-02-28T23:59:59.999", 10**15 + 1, own("fee:network", "ETH"), own("gas", "ETH")),
        ("2026-03-01T00:00:00.000", 9_000_000, COINS, FEES),
    ):
        with made_at(datetime.fromisoformat(at).replace(tzinfo=UTC)):
            move(amount, debit=debit, credit=credit)
            move(amount, debit=debit, credit=credit, environment=PRODUCTION)


def told(text: str) -> list[tuple[str, ...]]:
    names = ("month", "network", "coin", "group", "account", "amount")
    return [tuple(row[name] for name in names) for row in csv.DictReader(StringIO(text))]


FEBRUARY = [
    ("2026-02", "ethereum", "ETH", "result", "fee:network", "-0.001000000000000001"),
    ("2026-02", "ethereum", "ETH", "capital", "treasury", "1.000000000000000000"),
    ("2026-02", "ethereum", "USDC", "result", "fee:service", "4.500000"),
    ("2026-02", "ethereum", "USDC", "result", "loss", "-2.000000"),
    ("2026-02", "ethereum", "USDC", "result", "rounding", "0.000007"),
]
MARCH = [("2026-03", "ethereum", "USDC", "result", "fee:service", "9.000000")]


def test_each_month_has_what_was_posted_in_it_and_an_empty_one_nothing() -> None:
    day = date(2026, 2, 14)
    assert told("".join(result_csv(SANDBOX, months_between(day, day)))) == FEBRUARY
    assert told("".join(result_csv(SANDBOX, months_between(day, date(2026, 5, 1))))) == FEBRUARY + MARCH
    assert told("".join(result_csv(SANDBOX, months_between(date(2026, 4, 1), date(2026, 4, 1))))) == []
    assert len(months_between(date(2025, 12, 31), date(2026, 2, 1))) == 3


def test_the_months_sum_to_what_is_the_houses_own() -> None:
    months = months_between(date(2026, 1, 1), date(2026, 3, 31))
    rows = list(result_of(SANDBOX, months))
    assert list(result_by_account(SANDBOX, months)) == [replace(row, posting_kind="") for row in rows]
    for coin in balances_at(SANDBOX, datetime(2026, 4, 1, tzinfo=UTC)):
        kinds = [kind for kind in coin.by_kind if kind.rules.group.value == "equity"]
        held = {kind: -kind.rules.natural(coin.by_kind[kind]) for kind in kinds}  # a gain is a credit
        gained = {kind: sum(row.amount for row in rows if (row.kind, row.asset) == (kind, coin.asset)) for kind in held}
        assert held
        assert held == gained


def test_the_page_shows_it_and_gives_the_file(client: Client) -> None:
    client.force_login(make_user(is_staff=True, is_superuser=True))
    assert client.get(PAGE).status_code == 200
    shown = " ".join(client.get(PAGE, ASKED).text.split())
    for words in (
        "February 2026: USDC on ethereum",
        "<strong>2.500007 USDC</strong>",
        "Fees earned",
        "March 2026: USDC",
        "<td>−0.001000000000000001 ETH</td>",
    ):
        assert words in shown
    assert "30.00 USDC" not in shown
    assert told(client.get(PAGE, {**ASKED, "format": "csv"}).text) == FEBRUARY + MARCH
    assert "nothing in these months" in client.get(PAGE, {**ASKED, "first": "2020-01-01", "last": "2020-02-01"}).text
    for wrong, words in (
        ({"last": "2025-01-01"}, "before the first one"),
        ({"first": "1990-01-01"}, "No more than"),
        ({"last": "9999-12-31"}, "too far ahead"),
    ):
        reply = client.get(PAGE, {**ASKED, **wrong})
        assert (reply.status_code, words in reply.text) == (400, True)
    client.force_login(make_user(is_staff=True))
    assert client.get(PAGE, ASKED).status_code == 403


def test_the_command_writes_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("house_result", "--env", "sandbox", "--from", "2026-02", "--to", "2026-03")
    assert told(capsys.readouterr().out) == FEBRUARY + MARCH
    with pytest.raises(CommandError, match="--to is before --from"):
        call_command("house_result", "--env", "sandbox", "--from", "2026-02", "--to", "2026-01")
