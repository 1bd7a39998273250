"""What the accounts of a month were worth at recorded rates: opening + entries + revaluation = closing."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.environments import Environment
from merchants.models import Merchant
from payments.monitoring.accounting.periods import Days
from payments.rates.models import RecordedRate
from payments.rates.recording import record_rates
from settlements.monthly.files import month_csv, month_json
from settlements.monthly.reading import MonthAccount, accounts_of, entries_of
from settlements.monthly.valuation import Valuation, Valuer
from tests.accounting.clock import made_at
from tests.dashboard.conftest import browser_of
from tests.factories import make_member, make_merchant
from tests.ledger.books import COINS, available_account, move

pytestmark = pytest.mark.django_db

SANDBOX = Environment.SANDBOX
MARCH = Days(date(2026, 3, 1), date(2026, 3, 31), UTC)
NOW = datetime(2026, 4, 2, tzinfo=UTC)
COIN = 10**6


def rate(day: date, value: str) -> None:
    """What a USDC was worth in euros, recorded an hour before this day."""
    at = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(hours=1)
    pair = {"environment": SANDBOX, "base": "USDC", "quote": "EUR", "day": at.date()}
    RecordedRate.objects.create(**pair, rate=Decimal(value), source="kraken", recorded_at=at)


def earn(merchant: Merchant, coins: str, at: datetime) -> None:
    with made_at(at):
        move(int(Decimal(coins) * COIN), debit=COINS, credit=available_account(str(merchant.pk)))


def valued(merchant: Merchant, month: Days = MARCH) -> dict[str, Valuation]:
    """The one account of the month in each currency."""
    valuer = Valuer.of(merchant.settings.get(environment=SANDBOX), month, fiat="EUR", now=NOW)
    [account] = accounts_of(merchant, SANDBOX, month)
    valuations, balance = valuer.begin(account), account.opening
    for entry in entries_of(account, month):
        valuer.add(valuations, account, entry)
        balance = entry.balance
    valuer.close(valuations, account, balance)
    return {each.currency: each for each in valuations}


def figures(each: Valuation) -> tuple[str, ...]:
    shown = (each.opening and each.opening.amount, each.entries, each.revaluation, each.closing and each.closing.amount)
    return tuple(str(figure) for figure in shown)


def test_balances_are_worth_what_rates_say_and_the_change_of_rates_is_a_line() -> None:
    merchant = make_merchant()
    earn(merchant, "100", datetime(2026, 2, 10, tzinfo=UTC))
    earn(merchant, "50", datetime(2026, 3, 10, 12, tzinfo=UTC))
    for day, value in ((date(2026, 3, 1), "0.90"), (date(2026, 3, 10), "0.80"), (date(2026, 3, 31), "0.95")):
        rate(day, value)
    found = valued(merchant)
    # 100 × 0.90; 50 × 0.80; 150 × 0.95; what is left is the change of rates.
    assert figures(found["EUR"]) == ("90.00", "40.00", "12.50", "142.50")
    assert figures(found["USDC"]) == ("100.000000", "50.000000", "0.000000", "150.000000")
    rate(date(2026, 4, 2), "0.70")
    april = valued(merchant, Days(date(2026, 4, 1), date(2026, 4, 30), UTC))
    assert figures(april["EUR"])[0] == figures(found["EUR"])[3] == "142.50"
    assert figures(valued(merchant)["EUR"]) == figures(found["EUR"]), "a later rate changes nothing of before"


def test_without_a_recorded_rate_there_is_no_figure() -> None:
    merchant = make_merchant()
    earn(merchant, "100", datetime(2026, 2, 10, tzinfo=UTC))
    earn(merchant, "50", datetime(2026, 3, 10, 12, tzinfo=UTC))
    rate(date(2026, 3, 1), "0.90")
    rate(date(2026, 3, 28), "0.95")  # more than two days before the end
    euro = valued(merchant)["EUR"]
    assert figures(euro) == ("90.00", "0", "None", "None")
    assert euro.unvalued == 1


def test_files_and_page_have_it_and_add_up() -> None:
    merchant = make_merchant()
    earn(merchant, "100", datetime(2026, 2, 10, tzinfo=UTC))
    earn(merchant, "50", datetime(2026, 3, 10, 12, tzinfo=UTC))
    Merchant.objects.filter(pk=merchant.pk).update(created_at=datetime(2026, 1, 5, tzinfo=UTC))
    for day, value in ((date(2026, 3, 1), "0.9"), (date(2026, 3, 10), "0.8"), (date(2026, 3, 31), "0.95")):
        rate(day, value)
    valuer = Valuer.of(merchant.settings.get(environment=SANDBOX), MARCH, fiat="EUR", now=NOW)
    statement = json.loads(b"".join(month_json(merchant, SANDBOX, MARCH, valuer, timezone="UTC", now=NOW)))
    [account] = statement["accounts"]
    coin, euro = account["valuations"]
    assert (coin["currency"], euro["currency"]) == ("USDC", "EUR")
    assert euro["closing"] == {
        "amount": "142.50",
        "rate": "0.95",
        "rateSource": "kraken",
        "ratedAt": "2026-03-30T23:00:00.000Z",
    }
    assert Decimal(euro["opening"]["amount"]) + Decimal(euro["entries"]) + Decimal(euro["revaluation"]) == Decimal(
        euro["closing"]["amount"]
    )
    assert account["entries"][0]["worth"][1] == {"currency": "EUR", "amount": "40.00", "rate": "0.8"}
    rows = [line.strip().split(",") for line in month_csv(merchant, SANDBOX, MARCH, valuer)]
    assert {len(row) for row in rows} == {len(rows[0])}
    type_, worth = rows[0].index("type"), rows[0].index("worth_in_fiat")
    assert [(row[type_], row[worth]) for row in rows[1:]] == [
        ("opening_balance", "90.00"),
        ("moved", "40.00"),
        ("revaluation", "12.50"),
        ("closing_balance", "142.50"),
    ]
    client = browser_of(make_member(merchant))
    page = client.get("/dashboard/statements/month?month=2026-03&currency=EUR").content.decode()
    assert "142.50" in page.replace("&nbsp;", " ")
    assert "0.95 (kraken" in page
    assert client.get("/dashboard/statements/month?month=2026-03&currency=QQQ").status_code == 404


def test_rates_are_recorded_once_a_day_and_never_change() -> None:
    now = datetime(2026, 3, 10, 12, tzinfo=UTC)
    assert record_rates(now) > 100
    before = list(RecordedRate.objects.order_by("pk").values())
    assert record_rates(now + timedelta(hours=1)) == 0
    assert list(RecordedRate.objects.order_by("pk").values()) == before
    assert not RecordedRate.objects.filter(environment="production").exists(), "there is only the bundled table here"


@given(
    opening=st.integers(-(10**12), 10**12),
    entries=st.lists(st.integers(-(10**9), 10**9), max_size=20),
    rates=st.tuples(*[st.decimals("0.000001", "100000", places=6)] * 3),
)
def test_it_adds_up_to_the_last_digit_at_any_rates(
    opening: int, entries: list[int], rates: tuple[Decimal, Decimal, Decimal]
) -> None:
    from payments.rates.recording import KnownRate

    class Fixed:
        number = 0

        def of(self, coin: str, currency: str, at: datetime) -> KnownRate:
            Fixed.number += 1
            return KnownRate(rates[Fixed.number % 3], "made up", at)

    account = MonthAccount("balance", "ethereum", "USDC", 6, opening, opening + sum(entries), [])
    valuer = Valuer(["JPY", "EUR", "DAI"], Fixed(), MARCH.start, MARCH.end)  # type: ignore[arg-type]
    valuations = valuer.begin(account)
    for each in entries:
        for valuation in valuations:
            worth = valuer.worth(each, account, valuation.currency, MARCH.start)
            assert worth is not None
            valuation.entries += worth.amount
    valuer.close(valuations, account, opening + sum(entries))
    for valuation in valuations:
        assert valuation.opening is not None
        assert valuation.closing is not None
        assert valuation.revaluation is not None
        assert valuation.opening.amount + valuation.entries + valuation.revaluation == valuation.closing.amount
