"""Balances as they are read, now and at an earlier instant."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from config import ids
from merchants.ledger.balances import MerchantBalance, balance, merchant_balances
from merchants.ledger.posting import AccountRef
from merchants.models import Merchant
from tests.ledger.books import (
    COINS,
    PRODUCTION,
    SANDBOX,
    available_account,
    balance_at,
    move,
    payment_account,
    receivable_account,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def merchant() -> Merchant:
    return Merchant.objects.create(name="Shop", email="shop@example.com")


def test_an_account_never_used_holds_nothing() -> None:
    assert balance(available_account(), environment=SANDBOX) == 0
    assert balance_at(available_account(), datetime.now(UTC), environment=SANDBOX) == 0


def test_balances_are_positive_on_both_sides() -> None:
    account = available_account()
    move(5, debit=COINS, credit=account)
    assert balance(COINS, environment=SANDBOX) == 5
    assert balance(account, environment=SANDBOX) == 5


def test_a_balance_at_an_instant_counts_what_was_posted_before_it() -> None:
    account = payment_account()
    first = move(5, debit=COINS, credit=account)
    last = move(7, debit=COINS, credit=account)
    later = ids.created_at_of(last.id) + timedelta(milliseconds=1)
    assert balance_at(account, ids.created_at_of(first.id), environment=SANDBOX) == 0
    assert balance_at(account, later, environment=SANDBOX) == 12
    assert balance_at(COINS, later, environment=SANDBOX) == 12
    assert balance_at(account, later, environment=PRODUCTION) == 0


def test_a_merchants_balances_by_network_and_asset(merchant: Merchant) -> None:
    owner = str(merchant.pk)
    dai = AccountRef("polygon", "DAI", "chain:deposit")
    move(50, debit=COINS, credit=payment_account(owner))
    move(20, debit=receivable_account(owner), credit=COINS)
    move(10**18, debit=dai, credit=available_account(owner, network="polygon", asset="DAI"))
    move(99, debit=COINS, credit=available_account())
    move(99, debit=COINS, credit=payment_account(owner))
    move(1, debit=COINS, credit=available_account(owner), environment=PRODUCTION)
    assert merchant_balances(merchant, SANDBOX) == [
        MerchantBalance("ethereum", "USDC", available=0, receivable=20),
        MerchantBalance("polygon", "DAI", available=10**18, receivable=0),
    ]
    assert merchant_balances(merchant, PRODUCTION) == [MerchantBalance("ethereum", "USDC", available=1, receivable=0)]


def test_a_new_merchant_has_no_balances(merchant: Merchant) -> None:
    assert merchant_balances(merchant, SANDBOX) == []
