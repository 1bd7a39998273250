"""What coins of a payment were worth: the same in every place that shows it, and parts add up to the price."""

from __future__ import annotations

from random import Random

import pytest
from django.utils import timezone

from config.money import FIAT_DIGITS, fiat_share, to_units
from payments.dashboard.decisions.rows import decision_row
from payments.models import Payment
from payments.suspense.acceptance import accept_discrepancy
from refunds.plans.planning import NewRefund
from refunds.services import create_refund
from settlements.monthly.months import month_named
from settlements.monthly.reading import accounts_of, entries_of
from settlements.plans.reading import statement_of
from tests.payments import scenes as payments
from tests.payments.scenes import SANDBOX
from tests.settlements.scenes import WALLETS, earn, settle_one

pytestmark = pytest.mark.django_db

PRICES = [("31.00", "EUR"), ("24.99", "USD"), ("1000", "JPY"), ("7.350", "BHD"), ("0.11", "EUR"), ("12.50", "GBP")]


def in_the_month(payment: Payment) -> list[int]:
    """The worths of a payment's changes, in minor units, by the statement of the month."""
    merchant = payment.merchant
    month = month_named("", "UTC", opened_at=merchant.created_at, now=timezone.now())
    assert month is not None
    [account] = [each for each in accounts_of(merchant, SANDBOX, month) if each.name == "balance"]
    digits = FIAT_DIGITS[payment.currency]
    return [to_units(each.fiat_amount, digits) for each in entries_of(account, month) if each.fiat_amount is not None]


def in_the_settlement(payment: Payment) -> list[int]:
    [coin] = statement_of(settle_one(payment.merchant)).accounts
    digits = FIAT_DIGITS[payment.currency]
    return [to_units(line.fiat_amount, digits) for line in coin.entries if line.fiat_amount is not None]


def pay_part(payment: Payment, units: int) -> None:
    payments.pay_units(payment, units)
    payments.confirm(payment)


@pytest.mark.parametrize("seed", range(6))
def test_every_place_shows_one_worth_and_parts_add_up(seed: int) -> None:
    chance = Random(seed)
    price, currency = PRICES[seed % len(PRICES)]
    payment = payments.make_payment(amount=price, currency=currency)
    whole = int(payment.due)
    cuts = [whole // 3, whole // 3] if seed == 0 else sorted(chance.sample(range(1, whole), 2))
    sizes = [cuts[0], cuts[1] if seed == 0 else cuts[1] - cuts[0]]
    sizes.append(whole - sum(sizes))
    for place, units in enumerate(sizes):
        pay_part(payment, units)
        if not place:
            payments.end_window(payments.now(payment))
        found = payments.discrepancy(payments.now(payment))
        row = decision_row(found)
        worth = fiat_share(units, fiat_amount=payment.fiat_amount, due=whole)
        assert row.giving_back.fiat == worth, "what waits is worth its share"
        accept_discrepancy(found, resolved_by="a test")
    worths = in_the_month(payment)
    assert sum(worths) == payment.fiat_amount
    assert all(
        abs(worth - fiat_share(units, fiat_amount=payment.fiat_amount, due=whole)) <= 1
        for worth, units in zip(worths, sizes, strict=True)
    )
    made = create_refund(
        payment=payments.now(payment),
        request=NewRefund(amount=None, destination=WALLETS["ethereum"]),
        requested_by="a test",
    )
    assert made.fiat_amount == payment.fiat_amount
    assert in_the_month(payment) == [*worths, -payment.fiat_amount]
    earn(payment.merchant, "5")
    assert in_the_settlement(payment) == [*worths, -payment.fiat_amount]
