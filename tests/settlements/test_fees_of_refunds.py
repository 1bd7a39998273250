"""The operator's policy about the fee on what is refunded: kept, or returned with the next settlement."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from merchants.models import Merchant
from merchants.services import change_fee
from payments.models import Payment
from refunds.models import Refund
from refunds.plans.planning import NewRefund
from refunds.records import refund_record
from refunds.services import cancel_refund, create_refund
from settlements.exports.formats import statement_csv, statement_record
from settlements.plans.reading import statement_of
from settlements.plans.schedule import Period
from settlements.run_creation import run_once
from settlements.states import Trigger
from tests.payments import scenes as payments
from tests.settlements.scenes import SANDBOX, WALLETS, assert_all_is_well, earn, settle, settle_one, units
from tests.settlements.test_fees import fees_taken, make_merchant_with_fee, paid, undo

pytestmark = pytest.mark.django_db

PAYER = WALLETS["ethereum"]


def refund(payment: Payment, amount: str) -> Refund:
    request = NewRefund(amount=Decimal(amount), destination=PAYER)
    return create_refund(payment=payments.now(payment), request=request, requested_by="a test")


def before_it_is_settled(merchant: Merchant) -> None:
    refund(paid(merchant, "300", is_final=True), "100")


def after_it_was_settled(merchant: Merchant) -> None:
    first = paid(merchant, "300", is_final=True)
    settle(merchant)
    paid(merchant, "200", is_final=True)
    refund(first, "100")


def after_another_rate_began(merchant: Merchant) -> None:
    first = paid(merchant, "300", is_final=True)
    settle(merchant)
    change_fee(merchant=merchant, fee_bps=500)
    paid(merchant, "200", is_final=True)
    refund(first, "100")


def and_it_comes_back(merchant: Merchant) -> None:
    made = refund(paid(merchant, "300", is_final=True), "100")
    settle(merchant)
    cancel_refund(made)


def and_the_payment_is_undone(merchant: Merchant) -> None:
    paid(merchant, "300", is_final=True)
    refund(paid(merchant, "100"), "100")
    undo()


def and_both_are_undone(merchant: Merchant) -> None:
    paid(merchant, "300", is_final=True)
    made = refund(paid(merchant, "100"), "60")
    undo()
    settle(merchant)
    cancel_refund(made)


def and_it_is_paid_once_more(merchant: Merchant) -> None:
    paid(merchant, "300", is_final=True)
    undone = paid(merchant, "100")
    refund(undone, "60")
    undo()
    settle(merchant)
    payments.pay_units(undone, int(undone.due))
    payments.mine_and_watch(undone.network, 3)


def after_it_was_settled_and_is_undone(merchant: Merchant) -> None:
    paid(merchant, "300", is_final=True)
    undone = paid(merchant, "100")
    settle(merchant)
    change_fee(merchant=merchant, fee_bps=1_000)
    earn(merchant, "100")
    refund(undone, "60")
    undo()
    paid(merchant, "200", is_final=True)


@pytest.mark.parametrize(
    ("history", "kept", "returned"),
    [
        (before_it_is_settled, "3", "2"),
        (after_it_was_settled, "5", "4"),
        (after_another_rate_began, "13", "12"),
        (and_it_comes_back, "3", "3"),
        (and_the_payment_is_undone, "3", "3"),
        (and_both_are_undone, "3", "3"),
        (and_it_is_paid_once_more, "4", "3.4"),
        (after_it_was_settled_and_is_undone, "33", "33"),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_the_fee_is_on_what_the_policy_says(
    history: Callable[[Merchant], None], kept: str, returned: str, settings: Settings
) -> None:
    for policy, expected in (("kept", kept), ("returned", returned)):
        settings.FEE_ON_REFUNDS = policy
        merchant, before = make_merchant_with_fee(100), fees_taken()
        history(merchant)
        settle(merchant)
        assert fees_taken() - before == units(expected), policy
    assert_all_is_well(without={"I14"})  # settlements are on their way with coins that are not there any more


def settle_until(merchant: Merchant, until: datetime) -> None:
    """The run of a period that ended then, which is late: what was refunded since comes off it already."""
    run_once(
        merchant_id=merchant.pk,
        environment=SANDBOX,
        period=Period(f"until {until.isoformat()}"[:40], until),
        trigger=Trigger.SCHEDULE,
    )


@pytest.mark.parametrize("comes_back", [False, True])
@pytest.mark.parametrize("rates", [(100, 500), (500, 0), (0, 500)])
def test_a_refund_that_is_settled_before_its_payment_is_charged_one_rate(
    rates: tuple[int, int], comes_back: bool, settings: Settings
) -> None:
    settings.FEE_ON_REFUNDS = "returned"
    first, then = rates
    merchant = make_merchant_with_fee(first)
    paid(merchant, "300", is_final=True)
    ended_at = timezone.now()
    made = refund(paid(merchant, "100", is_final=True), "60")
    settle_until(merchant, ended_at)
    assert fees_taken() == units("240") * first // 10_000
    change_fee(merchant=merchant, fee_bps=then)
    earn(merchant, "10")
    if comes_back:
        cancel_refund(made)
    settle(merchant)
    kept = units("110" if comes_back else "50")
    assert fees_taken() == (units("300") * first + kept * then) // 10_000
    assert_all_is_well()


def test_the_policy_of_the_day_a_refund_was_made_holds_for_it(settings: Settings) -> None:
    merchant = make_merchant_with_fee(100)
    payment = paid(merchant, "300", is_final=True)
    kept = refund(payment, "100")
    settings.FEE_ON_REFUNDS = "returned"
    returned = refund(payment, "100")
    assert [refund_record(each)["returnsFee"] for each in (kept, returned)] == [False, True]

    settings.FEE_ON_REFUNDS = "kept"
    settlement = settle_one(merchant)
    assert (settlement.fee, fees_taken()) == (units("2"), units("2"))
    cancel_refund(kept)
    cancel_refund(returned)
    assert settle_one(merchant).fee == units("1")

    statement = statement_of(settlement)
    (coin,) = statement_record(statement)["coins"]
    lines = {line["refundId"]: line["returnsFee"] for line in coin["entries"]}
    assert lines == {None: None, kept.public_id: False, returned.public_id: True}
    text = "".join(statement_csv(statement))
    assert [line.rsplit(",", 1)[1] for line in text.splitlines() if ",refund," in line] == ["false", "true"]
    assert_all_is_well()
