"""What is paid beyond a price, where its merchant gives it back without a decision."""

from __future__ import annotations

import pytest

from merchants.models import Merchant
from payments.chains.simulated import control
from payments.models import Payment
from refunds.models import Refund
from refunds.services import cancel_refund
from refunds.tasks import give_back_due
from tests.payments.scenes import (
    ETHEREUM,
    assert_all_is_well,
    discrepancies,
    make_merchant_who,
    make_payment,
    mine_and_watch,
    pay,
    units,
)
from tests.refunds.scenes import resolve

pytestmark = pytest.mark.django_db


@pytest.fixture
def merchant() -> Merchant:
    return make_merchant_who(surplus="give_back")


def overpaid(merchant: Merchant, amount: str) -> Payment:
    """Paid and confirmed, and not final yet."""
    payment = make_payment(ETHEREUM, merchant=merchant)
    pay(payment, amount)
    mine_and_watch(ETHEREUM, 3)
    return payment


def let_all_become_final() -> None:
    mine_and_watch(ETHEREUM, control.deepest_reorg(ETHEREUM) + 1)


def test_a_surplus_goes_back_to_its_sender_once_it_is_final_and_once_only(merchant: Merchant) -> None:
    payment = overpaid(merchant, "125")
    assert discrepancies(payment) == [("overpaid", units(payment, "25"))]
    assert give_back_due() == 0  # a reorganisation could still undo it
    let_all_become_final()
    assert give_back_due() == 1
    assert give_back_due() == 0
    refund = Refund.objects.get()
    assert (refund.amount, refund.requested_by, refund.reason) == (
        units(payment, "25"),
        "policy",
        "Overpaid",
    )
    resolve()
    refund.refresh_from_db()
    assert (refund.status, refund.named_by) == ("pending", "sender")
    assert refund.destination == payment.deposits.get().sender
    assert discrepancies(payment, "refunded") == [("overpaid", units(payment, "25"))]
    assert_all_is_well()


def test_less_than_a_coin_waits_for_a_person(merchant: Merchant) -> None:
    payment = overpaid(merchant, "100.999999")
    let_all_become_final()
    assert give_back_due() == 0
    assert discrepancies(payment) == [("overpaid", units(payment, "0.999999"))]


def test_a_refund_that_was_called_off_is_not_made_again(merchant: Merchant) -> None:
    payment = overpaid(merchant, "125")
    let_all_become_final()
    give_back_due()
    cancel_refund(Refund.objects.get())
    assert discrepancies(payment) == [("overpaid", units(payment, "25"))]
    assert give_back_due() == 0
    assert_all_is_well()
