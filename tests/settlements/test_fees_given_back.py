"""A fee that is given back alone: its settlement and the fee are in the month's statement and on a credit note."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from merchants.ledger.checking import Scope
from merchants.models import Merchant
from merchants.services import change_fee
from settlements.invoices import issuing
from settlements.invoices.invariants import invoices_match_the_fees
from settlements.invoices.models import BillingDetails, Invoice
from settlements.models import Settlement
from settlements.monthly.months import month_named
from settlements.monthly.reading import accounts_of, entries_of, first_entries_of
from tests.accounting.clock import made_at
from tests.factories import make_merchant
from tests.ledger.books import COINS, FEES, move
from tests.ledger.test_planted_damage import sql, taken_back
from tests.payments.scenes import findings
from tests.settlements.scenes import SANDBOX, assert_all_is_well, earn, pay_out, settle_one, stock_treasury, units
from tests.settlements.test_debts_ended import end
from tests.settlements.test_fees import fees_taken, make_merchant_with_fee, paid, undo
from tests.settlements.test_fees_of_refunds import refund

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def an_issuer(settings: Settings) -> None:
    settings.INVOICE_ISSUER_NAME, settings.INVOICE_ISSUER_COUNTRY = "Example Payments GmbH", "DE"
    settings.INVOICE_CURRENCY, settings.INVOICE_TAX_RATE = "USD", "19"
    settings.FEE_ON_REFUNDS = "returned"


def month_before() -> datetime:
    return timezone.now().replace(day=1) - timedelta(days=3)


def settled_a_month_ago(merchant: Merchant) -> Settlement:
    """3 % of 300 USDC: its posting is of the month before."""
    with made_at(month_before()):
        settlement = settle_one(merchant)
    assert settlement.fee == units("9")
    return pay_out(settlement)


def a_debt_is_written_off(merchant: Merchant) -> None:
    paid(merchant, "300")
    with made_at(month_before()):
        settlement = settle_one(merchant)
    assert settlement.fee == units("9")
    undo()
    end(merchant, "300")


def as_much_is_refunded_as_comes(merchant: Merchant) -> None:
    first = paid(merchant, "300", is_final=True)
    settled_a_month_ago(merchant)
    change_fee(merchant=merchant, fee_bps=0)
    paid(merchant, "300", is_final=True)
    refund(first, "300")


def and_another_coin_comes_as_well(merchant: Merchant) -> None:
    as_much_is_refunded_as_comes(merchant)
    earn(merchant, "198", "USDT")


def plant_damage(settlement: Settlement) -> None:
    """Each kind is found by the check that compares papers, settlements and the ledger."""
    settled, invoices = "UPDATE settlements_settlement SET", "UPDATE invoices_invoice SET"
    of_it, stranger = f"WHERE id = '{settlement.pk}'", make_merchant().pk
    damage = {
        "S11": [
            f"{invoices} lines = jsonb_set(lines, '{{0,amount}}', '\"9.1\"')",
            f"{invoices} lines = jsonb_set(lines, '{{0,net}}', '\"9.10\"')",
            f"{invoices} tax = tax + 1 WHERE kind = 'credit_note'",
            "DELETE FROM invoices_invoice WHERE kind = 'credit_note'",
        ],
        "S12": [
            f"{settled} coins = jsonb_set(coins, '{{0,fee}}', '\"-8999999\"') {of_it}",
            f"{settled} merchant_id = '{stranger}' {of_it}",
        ],
    }
    for code, statements in damage.items():
        for statement in statements:
            with taken_back():
                sql(statement)()
                assert code in findings(room="settlements"), statement
    with taken_back():
        move(units("1"), debit=COINS, credit=FEES)
        assert "S11" in findings(room="settlements"), "a fee of nobody"
    with taken_back():
        sql(f"{invoices} tax = tax + 1")()
        assert found_since(timezone.now() - timedelta(hours=1)) == 2
        assert found_since(timezone.now() + timedelta(hours=1)) == 0, "a quick run reads what is new alone"


def found_since(instant: datetime) -> int:
    return len(list(invoices_match_the_fees(Scope(since=instant))))


@pytest.mark.parametrize(
    ("history", "paid_out"),
    [
        (a_debt_is_written_off, "9"),
        pytest.param(as_much_is_refunded_as_comes, "9", marks=pytest.mark.slow),
        pytest.param(and_another_coin_comes_as_well, "207", marks=pytest.mark.slow),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_it_is_in_the_statement_and_on_a_credit_note(history: Callable[[Merchant], None], paid_out: str) -> None:
    stock_treasury("1000")
    merchant = make_merchant_with_fee(300)
    merchant.created_at = timezone.now() - timedelta(days=70)
    merchant.save()
    BillingDetails.objects.create(merchant=merchant, name="Shop", address="Quay 1", country="DE")
    issuing.issue_due(month_before() - timedelta(days=31))
    history(merchant)
    settlement = pay_out(settle_one(merchant))
    assert (settlement.amount, settlement.fee, fees_taken()) == (units(paid_out), -units("9"), 0)

    month = month_named("", "UTC", opened_at=merchant.created_at, now=timezone.now())
    assert month is not None
    told: Counter[tuple[str, str]] = Counter()
    for account in accounts_of(merchant, SANDBOX, month):
        entries = list(entries_of(account, month))
        assert entries == list(entries_of(account, month, at_a_time=1))
        assert entries == first_entries_of([account], month, [100])[0]
        assert account.closing == account.opening + sum(each.amount for each in entries)
        for each in entries:
            told[account.coin, each.type] += each.amount
    assert (told["USDC", "fee"], told["USDC", "settlement_reserved"]) == (units("9"), -units("9"))
    assert -sum(told[coin, "settlement_reserved"] for coin in ("USDC", "USDT")) == settlement.amount

    issuing.issue_due(timezone.now() + timedelta(days=32))
    [invoice, note] = Invoice.objects.filter(merchant=merchant).order_by("sequence")
    assert [(each.kind, each.net, each.tax) for each in (invoice, note)] == [
        ("invoice", 900, 171),
        ("credit_note", 900, 171),
    ]
    plant_damage(settlement)
    assert_all_is_well(without={"W3"})  # the first settlement's event seems to have waited since it was made
