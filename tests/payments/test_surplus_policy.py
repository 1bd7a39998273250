"""What is paid beyond a price, where its merchant keeps some of it without a decision."""

from __future__ import annotations

import pytest

from config.errors import DomainError
from merchants.services import update_settings
from payments.models import Payment
from payments.suspense.surplus_policy import Outcome, SurplusPolicy, keep_due
from tests.payments.scenes import (
    ETHEREUM,
    SANDBOX,
    assert_all_is_well,
    books,
    confirm,
    discrepancies,
    make_merchant_who,
    make_payment,
    mine_and_watch,
    now,
    pay,
    pay_and_confirm,
    reorganise,
    units,
)

pytestmark = pytest.mark.django_db

HUNDRED = 100 * 10**6
CREDIT_BLOCKS = 3
"""So many complete a payment of a hundred on ethereum, and none of them is final."""


@pytest.mark.parametrize(
    ("policy", "surplus", "outcome"),
    [
        (SurplusPolicy("ask"), 1, Outcome.WAITS),
        (SurplusPolicy("keep", 50), 500_000, Outcome.KEPT),
        (SurplusPolicy("keep", 50), 500_001, Outcome.WAITS),
        (SurplusPolicy("keep", 0), 1, Outcome.WAITS),
        (SurplusPolicy("give_back"), 1_000_000, Outcome.GIVEN_BACK),
        (SurplusPolicy("give_back"), 999_999, Outcome.WAITS),
    ],
)
def test_what_becomes_of_a_surplus_over_a_hundred(policy: SurplusPolicy, surplus: int, outcome: Outcome) -> None:
    assert policy.outcome(surplus, due=HUNDRED, decimals=6) == outcome


def kept(amount: str) -> Payment:
    """Paid, confirmed and looked at, of a merchant who keeps up to half a percent."""
    merchant = make_merchant_who(surplus="keep", surplus_kept_bps=50)
    payment = pay_and_confirm(make_payment(merchant=merchant), amount)
    keep_due()
    return now(payment)


def test_a_small_surplus_is_the_merchants_and_a_larger_one_waits() -> None:
    little = kept("100.5")
    assert discrepancies(little, "accepted") == [("overpaid", units(little, "0.5"))]
    assert books(little)["merchant:available"] == units(little, "100.5")
    much = kept("100.500001")
    assert discrepancies(much) == [("overpaid", units(much, "0.500001"))]
    assert keep_due() == 0
    assert_all_is_well()


def test_several_small_surpluses_of_a_payment_count_together() -> None:
    payment = kept("100.4")
    pay(payment, "0.2")
    confirm(payment)
    assert keep_due() == 0
    assert discrepancies(payment) == [("overpaid", units(payment, "0.2"))]
    assert_all_is_well()


def test_what_was_kept_and_then_undone_by_the_network_is_taken_back() -> None:
    merchant = make_merchant_who(surplus="keep", surplus_kept_bps=50)
    payment = make_payment(ETHEREUM, merchant=merchant)
    transaction_hash = pay(payment, "100.5")
    mine_and_watch(ETHEREUM, CREDIT_BLOCKS)
    assert keep_due() == 1
    reorganise(payment, CREDIT_BLOCKS, "dropped", only=[transaction_hash])
    assert discrepancies(payment, "void") == [("overpaid", units(payment, "0.5"))]
    assert books(payment) == {}
    assert_all_is_well()


def test_payments_made_before_the_policy_was_chosen_wait() -> None:
    merchant = make_merchant_who()
    payment = make_payment(merchant=merchant)
    update_settings(merchant=merchant, environment=SANDBOX, changes={"surplus": "keep", "surplus_kept_bps": 100})
    pay_and_confirm(payment, "100.5")
    assert keep_due() == 0
    assert discrepancies(payment) == [("overpaid", units(payment, "0.5"))]


def test_no_more_than_a_percent_is_kept() -> None:
    with pytest.raises(DomainError, match="between 0 and 1 percent"):
        make_merchant_who(surplus="keep", surplus_kept_bps=101)
