"""Over any history the fee is the rate times what the merchant kept: nothing is charged twice, and nothing is lost."""

from __future__ import annotations

import time
from itertools import count
from types import SimpleNamespace

import pytest

from config import ids
from merchants.ledger.chart import AccountKind
from merchants.ledger.models import Account
from merchants.models import Merchant
from merchants.services import change_fee, update_settings
from payments.chains.simulated import control
from payments.models import Payment
from settlements.plans.reading import statement_of
from settlements.services import retry_failed
from settlements.states import SettlementStatus
from tests.factories import make_merchant
from tests.payments import refunds
from tests.payments import scenes as payments
from tests.settlements.scenes import (
    ETHEREUM,
    SANDBOX,
    advance,
    assert_all_is_well,
    earn,
    settle_one,
    units,
)

pytestmark = pytest.mark.django_db


def make_merchant_with_fee(bps: int) -> Merchant:
    merchant = make_merchant()
    change_fee(merchant=merchant, fee_bps=bps)
    return merchant


def paid(merchant: Merchant, amount: str, *, percent: int = 100, is_final: bool = False) -> Payment:
    """A payment of the merchant that was paid and credited, and may still be undone unless it is final."""
    payment = payments.make_payment(amount=amount, merchant=merchant)
    payments.pay_units(payment, int(payment.due) * percent // 100)
    payments.mine(ETHEREUM, payments.BLOCKS_UNTIL_FINAL[ETHEREUM] + 1 if is_final else 3)
    payments.watch()
    return payments.now(payment)


def undo(blocks: int = 4) -> None:
    """A reorganisation drops what the newest blocks hold."""
    control.reorg(ETHEREUM, blocks, "dropped")
    payments.mine(ETHEREUM, 1)
    payments.watch()


def fees_taken() -> int:
    """By the ledger."""
    return sum(each.natural_balance for each in Account.objects.filter(kind=AccountKind.FEE_SERVICE))


def test_a_fee_on_money_that_a_reorganisation_took_back_is_given_back() -> None:
    merchant = make_merchant_with_fee(100)
    paid(merchant, "300", is_final=True)
    undone = paid(merchant, "100")
    settlement = settle_one(merchant)
    assert fees_taken() == units("4")

    undo()
    assert payments.now(undone).released == 0
    control.describe_account(ETHEREUM, settlement.destination, refuses="destination_refused")
    assert advance(settlement).status == SettlementStatus.FAILED
    control.describe_account(ETHEREUM, settlement.destination)
    retry_failed(settlement, requested_by="a test")
    again = settle_one(merchant)
    assert fees_taken() == units("3")
    # 396 came back, 100 of it was never there, and the fee of that is the merchant's again.
    assert (again.gross, again.fee, again.refund, again.amount) == (units("296"), -units("1"), 0, units("297"))
    assert_all_is_well()


def test_money_that_waits_for_a_decision_is_no_part_of_what_a_fee_is_on() -> None:
    merchant = make_merchant_with_fee(1_000)
    paid(merchant, "500", is_final=True)
    undone = paid(merchant, "100", percent=200)
    refund = refunds.reserve_all(payments.discrepancy(undone))
    undo()
    refunds.give_back(refund)
    assert payments.now(undone).released == 0

    settlement = settle_one(merchant)
    assert fees_taken() == units("50")
    # The payment and its reversal cancel out, and so do the refund that was to be borne and its end.
    assert (settlement.gross, settlement.fee, settlement.refund) == (units("500"), units("50"), 0)
    lines = [(line.type, line.amount) for line in statement_of(settlement).accounts[0].entries]
    assert sorted(lines) == [
        ("fee", -units("50")),
        ("payment", units("100")),
        ("payment", units("500")),
        ("refund", -units("100")),
        ("refund_failed", units("100")),
        ("reversal", -units("100")),
    ]
    refunds.assert_all_is_well()


def test_late_money_that_was_refunded_and_undone_is_no_part_of_it_either() -> None:
    merchant = make_merchant_with_fee(1_000)
    paid(merchant, "500", is_final=True)
    late = payments.end_window(payments.make_payment(amount="100", merchant=merchant))
    payments.pay(late)
    payments.mine_and_watch(ETHEREUM, 3)
    refund = refunds.reserve_all(payments.discrepancy(late, "late"))
    undo()
    refunds.give_back(refund)
    settle_one(merchant)
    assert fees_taken() == units("50")
    refunds.assert_all_is_well()


def test_what_is_undone_gives_back_the_fee_at_the_rate_it_was_taken_at() -> None:
    merchant = make_merchant_with_fee(100)
    paid(merchant, "300", is_final=True)
    paid(merchant, "100")
    settle_one(merchant)
    change_fee(merchant=merchant, fee_bps=500)
    undo()
    paid(merchant, "1000", is_final=True)
    settle_one(merchant)
    assert fees_taken() == units("3") + units("50")
    assert_all_is_well(without={"I14"})  # the first settlement is on its way with coins that are not there


def test_what_rounding_leaves_of_a_fee_is_taken_by_the_next() -> None:
    merchant = make_merchant_with_fee(1)
    for number in range(1, 5):
        earn(merchant, "0.005")
        settle_one(merchant)
        assert fees_taken() == number // 2  # half of a base unit each time


def test_what_is_undone_gives_back_the_fee_of_each_of_its_parts() -> None:
    merchant = make_merchant_with_fee(100)
    update_settings(merchant=merchant, environment=SANDBOX, changes={"payment_tolerance_bps": 50})
    paid(merchant, "300", is_final=True)
    topped_up = payments.make_payment(amount="100", merchant=merchant)
    payments.pay(topped_up, "99.5")
    payments.mine_and_watch(ETHEREUM, 3)
    settle_one(merchant)
    change_fee(merchant=merchant, fee_bps=1_000)
    payments.pay(topped_up, "0.5")
    payments.mine_and_watch(ETHEREUM, 3)
    settle_one(merchant)
    assert fees_taken() == units("3.995") + units("0.05")
    undo(6)
    assert payments.now(topped_up).released == 0
    paid(merchant, "1000", is_final=True)
    settle_one(merchant)
    assert fees_taken() == units("3") + units("100")
    assert_all_is_well(without={"I14"})  # what was settled of it is on its way with coins that are not there


def test_what_is_undone_before_and_after_its_settlement_gives_back_the_fee_of_what_was_settled() -> None:
    merchant = make_merchant_with_fee(100)
    update_settings(merchant=merchant, environment=SANDBOX, changes={"payment_tolerance_bps": 50})
    topped_up = payments.make_payment(amount="100", merchant=merchant)
    payments.pay(topped_up, "99.5")
    payments.mine_and_watch(ETHEREUM, 3)
    settle_one(merchant)
    change_fee(merchant=merchant, fee_bps=1_000)
    payments.pay(topped_up, "0.5")
    payments.mine_and_watch(ETHEREUM, 3)
    undo(6)
    assert payments.now(topped_up).released == 0
    paid(merchant, "1000", is_final=True)
    settle_one(merchant)
    assert fees_taken() == units("100")
    assert_all_is_well(without={"I14"})


def test_what_counts_again_once_a_surplus_is_undone_is_charged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One assessment undoes all of it and counts the rest again. Each key of a millisecond is below the one before.

    A clock that tells milliseconds apart and nothing less makes such keys by chance.
    """
    below = count(2**62 - 1, -1)
    clock = SimpleNamespace(time_ns=lambda: time.time_ns() // 1_000_000 * 1_000_000)
    monkeypatch.setattr(ids, "time", clock)
    monkeypatch.setattr(ids, "secrets", SimpleNamespace(randbits=lambda _bits: next(below)))
    merchant = make_merchant_with_fee(100)
    paid(merchant, "300", is_final=True)
    twice = paid(merchant, "100")
    payments.pay(twice)
    payments.mine_and_watch(ETHEREUM, 3)
    settle_one(merchant)
    change_fee(merchant=merchant, fee_bps=500)
    undo()
    assert [each.amount for each in twice.balance_changes.order_by("id")] == [units("100"), -units("100"), units("100")]
    paid(merchant, "1000", is_final=True)
    settle_one(merchant)
    assert fees_taken() == units("3") + units("5") + units("50")
    assert_all_is_well()
