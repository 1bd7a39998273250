"""What a merchant owes is repaid before anything is the merchant's again, whatever brings the money."""

from __future__ import annotations

import pytest

from merchants.ledger.balances import MerchantBalance, merchant_balances
from merchants.models import Merchant
from payments.chains.simulated import control
from payments.models import Payment
from payments.suspense import refund_accounting
from payments.suspense.refund_accounting import InsufficientBalance
from settlements.models import Settlement
from settlements.states import SettlementStatus
from tests.factories import make_merchant
from tests.payments import refunds
from tests.payments import scenes as payments
from tests.settlements.scenes import ETHEREUM, SANDBOX, advance, assert_all_is_well, settle_one, units

pytestmark = pytest.mark.django_db


def settled_and_undone(merchant: Merchant) -> Settlement:
    """300 that stay and 100 that a reorganisation takes back are settled: the merchant owes 100."""
    payments.pay_and_confirm(payments.make_payment(amount="300", merchant=merchant))
    payments.pay(payments.make_payment(amount="100", merchant=merchant))
    payments.mine_and_watch(ETHEREUM, 3)
    settlement = settle_one(merchant)
    control.reorg(ETHEREUM, 4, "dropped")
    payments.mine_and_watch(ETHEREUM)
    assert balances(merchant) == (0, units("100"))
    return settlement


def refuse(settlement: Settlement) -> Settlement:
    control.describe_account(settlement.network, settlement.destination, refuses="destination_refused")
    return advance(settlement)


def balances(merchant: Merchant) -> tuple[int, int]:
    """What is available and what is owed, in USDC on ethereum."""
    [held] = merchant_balances(merchant, SANDBOX)
    assert held == MerchantBalance(ETHEREUM, "USDC", held.available, held.receivable)
    return held.available, held.receivable


def test_a_settlement_that_comes_back_repays_what_is_owed() -> None:
    merchant = make_merchant()
    settlement = settled_and_undone(merchant)
    assert refuse(settlement).status == SettlementStatus.FAILED
    assert balances(merchant) == (units("300"), 0)
    assert_all_is_well()

    kept = Payment.objects.get(status="completed")
    refunds.reserve(kept, units("300"))
    assert refund_accounting.refundable(payments.now(kept)) == 0
    assert balances(merchant) == (0, 0)


def test_nothing_goes_out_of_a_balance_that_is_owed() -> None:
    merchant = make_merchant()
    kept = payments.pay_and_confirm(payments.make_payment(amount="100", merchant=merchant))
    payments.pay(payments.make_payment(amount="100", merchant=merchant))
    payments.mine_and_watch(ETHEREUM, 3)
    settlement = settle_one(merchant)
    control.reorg(ETHEREUM, 4, "dropped")
    payments.mine_and_watch(ETHEREUM)
    with pytest.raises(InsufficientBalance):
        refunds.reserve(kept, units("100"))
    refuse(settlement)
    assert balances(merchant) == (units("100"), 0)
    refunds.reserve(kept, units("100"))
    assert balances(merchant) == (0, 0)
