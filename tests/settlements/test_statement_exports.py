"""Files for bookkeeping: they sum to what the statement says, and rounding never adds up."""

from __future__ import annotations

import csv
from decimal import Decimal
from io import StringIO

import pytest
from django.http import Http404
from hypothesis import given
from hypothesis import strategies as st

from payments.states import BalanceChangeKind
from settlements.exports.bookkeeping import BOOKING_COLUMNS, COUNTER_ACCOUNTS, statement_reply
from settlements.plans.statements import LineType, Statement, build_statement
from settlements.states import SettlementStatus
from tests.settlements.statement_rows import REFUND_ID, change, coin_part, settlement_of


def rows_of(statement: Statement, form: str, coin: str = "USDC", zone: str = "UTC") -> list[list[str]]:
    reply = statement_reply(statement, form, coin=coin, timezone=zone)
    text = reply.content.decode("utf-8-sig")
    return list(csv.reader(StringIO(text, newline=""), delimiter=";" if form == "bookings" else ","))


def paid_statement() -> Statement:
    changes = [
        change(29_580_000, fiat=2550),
        change(-5_800_000, kind=BalanceChangeKind.REFUND, fiat=2550, due=29_580_000, reference=REFUND_ID),
    ]
    return build_statement(settlement_of([coin_part("USDC", changes, fee=147_905)]), changes)


def test_the_booking_list_has_every_digit_and_an_account_for_each_line() -> None:
    heading, *rows = rows_of(paid_statement(), "bookings", zone="Asia/Kathmandu")
    assert heading == list(BOOKING_COLUMNS)
    assert [row[:7] for row in rows] == [
        ["29,580000", "S", "USDC", "25,50", "EUR", "1360", "8200"],
        ["5,800000", "H", "USDC", "5,00", "EUR", "1360", "8200"],
        ["0,147905", "H", "USDC", "", "", "1360", "4970"],
        ["23,632095", "H", "USDC", "", "", "1360", "1200"],
    ]
    assert rows[0][7] == "30.01.2027"
    assert rows[3][7] == "31.01.2027"
    assert rows[1][8] == REFUND_ID
    signed = [Decimal(row[0].replace(",", ".")) * (1 if row[1] == "S" else -1) for row in rows]
    assert sum(signed) == 0


def test_every_type_of_line_has_an_account() -> None:
    assert set(COUNTER_ACCOUNTS) == {*BalanceChangeKind, LineType.FEE, LineType.CONVERSION, LineType.SETTLEMENT}


def test_xero_and_quickbooks_get_one_account_in_cents() -> None:
    _, *xero = rows_of(paid_statement(), "xero")
    assert [row[:2] for row in xero] == [
        ["2027-01-30", "29.58"],
        ["2027-01-30", "-5.80"],
        ["2026-01-31", "-0.15"],  # the settlement is as old as its id
        ["2027-01-31", "-23.63"],
    ]
    _, *quickbooks = rows_of(paid_statement(), "quickbooks")
    assert (quickbooks[0][0], quickbooks[0][2]) == ("01/30/2027", "29.58")
    assert sum(Decimal(row[2]) for row in quickbooks) == 0


def test_another_form_or_coin_has_no_file() -> None:
    statement = paid_statement()
    for form, coin in (("sage", "USDC"), ("xero", "DAI")):
        with pytest.raises(Http404):
            statement_reply(statement, form, coin=coin)


@given(st.lists(st.integers(min_value=1, max_value=10**20), min_size=1, max_size=30))
def test_rounding_to_cents_never_adds_up(amounts: list[int]) -> None:
    changes = [change(amount, coin="DAI") for amount in amounts]
    settlement = settlement_of([coin_part("DAI", changes)], currency="DAI", status=SettlementStatus.PENDING)
    _, *rows = rows_of(build_statement(settlement, changes), "xero", coin="DAI")
    exact = Decimal(sum(amounts)).scaleb(-18)
    assert abs(sum((Decimal(row[1]) for row in rows), Decimal(0)) - exact) <= Decimal("0.005")
