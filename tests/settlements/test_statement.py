"""Statements: opening balance + entries = closing balance, to the base unit, or no statement at all."""

from __future__ import annotations

import csv
from datetime import timedelta
from decimal import Decimal
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.money import fiat_share, to_units
from config.pages.files import text_cell
from payments.states import BalanceChangeKind
from settlements.exports.formats import CSV_COLUMNS, statement_csv, statement_record
from settlements.plans.statements import CoinAccount, StatementDoesNotBalance, build_statement
from settlements.states import SettlementStatus
from tests.settlements.statement_rows import (
    HASH,
    PERIOD_START,
    REFUND_ID,
    WALLET,
    change,
    coin_part,
    settlement_of,
)

BEFORE = PERIOD_START - timedelta(hours=3)


def told(account: CoinAccount) -> list[tuple[str, int | None, int]]:
    return [(line.type, line.amount, line.balance) for line in account.entries]


def test_a_payment_a_refund_the_fee_and_the_payout_leave_nothing_over() -> None:
    changes = [
        change(29_580_000, fiat=2550),
        change(-5_800_000, kind=BalanceChangeKind.REFUND, fiat=2550, due=29_580_000, reference=REFUND_ID),
    ]
    settlement = settlement_of([coin_part("USDC", changes, fee=147_900)])
    [account] = build_statement(settlement, changes).accounts
    assert account.opening == 0
    assert told(account) == [
        ("payment", 29_580_000, 29_580_000),
        ("refund", -5_800_000, 23_780_000),
        ("fee", -147_900, 23_632_100),
        ("settlement", -23_632_100, 0),
    ]
    assert account.closing == 0
    payment, refund, _, payout = account.entries
    assert (payment.fiat_amount, payment.fiat_currency) == (Decimal("25.50"), "EUR")
    assert (refund.fiat_amount, refund.fiat_currency) == (Decimal("-5.00"), "EUR")
    assert (payment.refund_id, refund.refund_id) == ("", REFUND_ID)
    assert (payout.wallet, payout.transaction_hash) == (WALLET, HASH)


def test_what_was_carried_over_makes_the_opening_balance_and_is_itemised() -> None:
    changes = [change(4_000_000, at=BEFORE), change(400_000, at=BEFORE), change(10_000_000)]
    [account] = build_statement(settlement_of([coin_part("USDC", changes)]), changes).accounts
    assert [(line.amount, line.balance) for line in account.carried_over] == [
        (4_000_000, 4_000_000),
        (400_000, 4_400_000),
    ]
    assert account.opening == 4_400_000
    assert told(account) == [("payment", 10_000_000, 14_400_000), ("settlement", -14_400_000, 0)]


def test_another_coin_goes_out_at_the_recorded_rate_and_comes_into_the_settlement_currency() -> None:
    changes = [change(2_500_000_000_000_000_001, coin="DAI"), change(1_000_000)]
    parts = [coin_part("DAI", changes, converted=2_497_500), coin_part("USDC", changes)]
    dai, usdc = build_statement(settlement_of(parts), changes).accounts
    assert told(dai) == [
        ("payment", 2_500_000_000_000_000_001, 2_500_000_000_000_000_001),
        ("conversion", -2_500_000_000_000_000_001, 0),
    ]
    assert told(usdc) == [
        ("payment", 1_000_000, 1_000_000),
        ("conversion", 2_497_500, 3_497_500),
        ("settlement", -3_497_500, 0),
    ]
    assert (dai.entries[1].other_coin, usdc.entries[1].other_coin) == ("USDC", "DAI")
    assert Decimal(usdc.entries[1].rate) == Decimal("0.999")


def test_a_coin_nobody_paid_in_still_has_an_account_when_others_are_converted_into_it() -> None:
    changes = [change(5_000_000, coin="USDT")]
    parts = [coin_part("USDT", changes, converted=4_995_000)]
    accounts = build_statement(settlement_of(parts), changes).accounts
    assert [(account.coin, account.closing) for account in accounts] == [("USDT", 0), ("USDC", 0)]


def test_one_on_its_way_closes_with_what_is_still_to_be_paid() -> None:
    changes = [change(5_000_000)]
    parts = [coin_part("USDC", changes, fee=25_000)]
    pending = settlement_of(parts, status=SettlementStatus.PENDING)
    [account] = build_statement(pending, changes).accounts
    assert told(account)[-1] == ("fee", -25_000, 4_975_000)
    assert account.closing == 4_975_000


def test_before_the_conversion_each_coin_closes_with_its_own() -> None:
    changes = [change(5_000_000, coin="USDT"), change(7_000_000)]
    parts = [coin_part("USDT", changes), coin_part("USDC", changes)]
    pending = settlement_of(parts, status=SettlementStatus.PENDING, amount=11_995_000, converted=False)
    accounts = build_statement(pending, changes).accounts
    assert [(account.coin, account.closing) for account in accounts] == [("USDT", 5_000_000), ("USDC", 7_000_000)]


def test_a_statement_that_does_not_balance_is_refused() -> None:
    changes = [change(5_000_000), change(2_000_000)]
    parts = [coin_part("USDC", changes)]
    with pytest.raises(StatementDoesNotBalance, match="5000000 USDC in rows, 7000000 in the ledger"):
        build_statement(settlement_of(parts), changes[:1])
    with pytest.raises(StatementDoesNotBalance, match="closes with 1 instead of 0"):
        build_statement(settlement_of(parts, amount=6_999_999), changes)
    with pytest.raises(StatementDoesNotBalance, match="does not know of its DAI"):
        build_statement(settlement_of(parts), [*changes, change(1, coin="DAI")])
    wrong_net = [{**parts[0], "net": "6999999"}]
    with pytest.raises(StatementDoesNotBalance):
        build_statement(settlement_of(wrong_net), changes)


@pytest.mark.parametrize(
    ("amount", "fiat_amount", "due", "share"),
    [
        (29_580_000, 2550, 29_580_000, 2550),
        (-29_580_000, 2550, 29_580_000, -2550),
        (11_599_999, 2550, 29_580_000, 1000),  # a refund of 10.00, rounded down to a base unit
        (-11_599_999, 2550, 29_580_000, -1000),
        (1, 2550, 29_580_000, 0),
        (1, 3, 2, 2),  # one and a half
        (33_000_001, 5400, 33_000_000, 5400),
    ],
)
def test_the_share_of_the_price_is_to_the_minor_unit(amount: int, fiat_amount: int, due: int, share: int) -> None:
    assert fiat_share(amount, fiat_amount=fiat_amount, due=due) == share


@given(refunded=st.integers(1, 100_000_00), price=st.integers(1, 100_000_00), rate=st.integers(10**5, 10**9))
def test_a_refund_of_a_fiat_amount_reads_as_that_amount(refunded: int, price: int, rate: int) -> None:
    """`rate` is base units for one unit of the currency; amounts are rounded as quotes and refunds round them."""
    due = -(-price * rate // 100)
    refunded = min(refunded, price)
    assert fiat_share(refunded * due // price, fiat_amount=price, due=due) == refunded


def test_money_in_another_coin_than_its_payment_s_has_no_fiat_value() -> None:
    changes = [change(3_000_000, kind=BalanceChangeKind.ACCEPTED, fiat=2550, due=29_580_000, payment_coin="DAI")]
    [account] = build_statement(settlement_of([coin_part("USDC", changes)]), changes).accounts
    assert (account.entries[0].fiat_amount, account.entries[0].fiat_currency) == (None, "")


# --- the forms ---------------------------------------------------------------------------------------

TWO_COINS = [change(2_500_000_000_000_000_001, coin="DAI", fiat=250, at=BEFORE), change(1_000_000, fiat=100)]
TWO_PARTS = [coin_part("DAI", TWO_COINS, converted=2_497_500), coin_part("USDC", TWO_COINS, fee=5_000)]


def test_json_shows_every_digit() -> None:
    record = statement_record(build_statement(settlement_of(TWO_PARTS), TWO_COINS))
    assert record["version"] == 1
    dai, usdc = record["coins"]
    assert dai["openingBalance"] == "2.500000000000000001"
    assert dai["carriedOver"][0]["amount"] == "2.500000000000000001"
    assert dai["entries"][0] == {
        "type": "conversion",
        "time": "2027-01-31T00:00:02.000Z",
        "amount": "-2.500000000000000001",
        "balance": "0.000000000000000000",
        "reference": record["settlement"],
        "paymentId": None,
        "refundId": None,
        "wallet": None,
        "fiatAmount": None,
        "fiatCurrency": None,
        "conversion": {
            "cryptocurrency": "USDC",
            "rate": "0.999",
            "source": "kraken",
            "quotedAt": "2027-01-31T00:00:02.000Z",
        },
        "transactionHash": None,
        "tokenFee": None,
        "claimableBalanceId": None,
        "debtOffset": None,
        "returnsFee": None,
    }
    assert [entry["amount"] for entry in usdc["entries"]] == ["1.000000", "-0.005000", "2.497500", "-3.492500"]
    assert usdc["closingBalance"] == "0.000000"


def test_csv_is_rfc_4180_with_a_version_in_every_row() -> None:
    text = statement_csv(build_statement(settlement_of(TWO_PARTS), TWO_COINS))
    assert text.endswith("\r\n")
    assert text.count("\n") == text.count("\r\n")
    heading, *rows = csv.reader(StringIO(text, newline=""))
    assert tuple(heading) == CSV_COLUMNS
    assert heading[0] == "statement_version"
    assert {row[0] for row in rows} == {"1"}
    assert {len(row) for row in rows} == {len(CSV_COLUMNS)}
    assert [row[2] for row in rows] == [str(number) for number in range(1, len(rows) + 1)]
    cells = [dict(zip(heading, row, strict=True)) for row in rows]
    assert [(cell["cryptocurrency"], cell["section"], cell["type"]) for cell in cells] == [
        ("DAI", "carried_over", "payment"),
        ("DAI", "opening", "opening_balance"),
        ("DAI", "settlement", "conversion"),
        ("DAI", "closing", "closing_balance"),
        ("USDC", "opening", "opening_balance"),
        ("USDC", "period", "payment"),
        ("USDC", "settlement", "fee"),
        ("USDC", "settlement", "conversion"),
        ("USDC", "settlement", "settlement"),
        ("USDC", "closing", "closing_balance"),
    ]
    assert cells[0]["fiat_amount"] == "2.50"


@given(
    amounts=st.lists(
        st.tuples(st.sampled_from(["USDC", "DAI"]), st.integers(-(10**24), 10**24).filter(bool), st.booleans()),
        min_size=1,
        max_size=30,
    ),
    fee=st.integers(0, 10**20),
)
def test_csv_sums_to_the_closing_balances_to_the_last_base_unit(amounts: list[tuple[str, int, bool]], fee: int) -> None:
    changes = sorted(change(amount, coin=coin, at=BEFORE if early else None) for coin, amount, early in amounts)
    coins = sorted({each.asset for each in changes})
    parts = [coin_part(coin, changes, fee=fee) for coin in coins]
    pending = settlement_of(parts, status=SettlementStatus.PENDING, amount=1, converted=False)
    rows = list(csv.DictReader(StringIO(statement_csv(build_statement(pending, changes)), newline="")))
    for part in parts:
        own = [row for row in rows if row["cryptocurrency"] == part["coin"]]
        exactly = sum(to_units(Decimal(row["amount"]), part["decimals"]) for row in own if row["amount"])
        assert exactly == int(part["net"])
        [closing] = [row for row in own if row["type"] == "closing_balance"]
        assert to_units(Decimal(closing["balance"]), part["decimals"]) == exactly


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\t", "\r"])
def test_no_text_is_taken_for_a_formula(start: str) -> None:
    hostile = f"{start}HYPERLINK(A1)"
    assert text_cell(hostile) == f"'{hostile}"
    assert text_cell("kraken, coinbase") == "kraken, coinbase"
    changes = [change(1_000_000, reference=hostile)]
    text = statement_csv(build_statement(settlement_of([coin_part("USDC", changes)]), changes))
    cells = [cell for row in csv.reader(StringIO(text, newline="")) for cell in row]
    assert f"'{hostile}" in cells
    assert hostile not in cells
