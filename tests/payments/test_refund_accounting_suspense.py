"""Money in suspense goes back to whoever sent it, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from payments.models import Discrepancy, Payment
from payments.services import cancel_payment
from payments.states import DiscrepancyStatus
from payments.suspense import refund_accounting
from payments.suspense.acceptance import DiscrepancyResolved, accept_discrepancy
from tests.payments.refunds import (
    assert_all_is_well,
    balance_changes,
    books,
    complete,
    completed,
    fill_hot_wallet,
    give_back,
    refund_all,
    reserve,
    reserve_all,
)
from tests.payments.scenes import (
    ETHEREUM,
    POLYGON,
    discrepancies,
    discrepancy,
    end_window,
    events,
    everything,
    make_payment,
    now,
    pay_and_confirm,
    units,
)

pytestmark = pytest.mark.django_db


def too_much() -> Payment:
    return completed("130")


def too_little() -> Payment:
    return end_window(completed("60"))


def too_late() -> Payment:
    return pay_and_confirm(end_window(make_payment(ETHEREUM)), "100")


def wrong_coin() -> Payment:
    return completed_in_another_coin()


def completed_in_another_coin() -> Payment:
    return pay_and_confirm(make_payment(ETHEREUM), "70", coin="DAI")


def wrong_network() -> Payment:
    return pay_and_confirm(make_payment(ETHEREUM), "70", network=POLYGON)


SUSPENSE = [
    # How it comes about, what of it is in `refunded` and in `returned`, and the status afterwards.
    (too_much, "30", "0", "completed"),
    (too_little, "60", "60", "refunded"),
    (too_late, "0", "0", "expired"),
    (wrong_coin, "0", "0", "created"),
    (wrong_network, "0", "0", "created"),
]


@pytest.mark.parametrize(("reach", "refunded", "returned", "status"), SUSPENSE)
def test_money_in_suspense_goes_back_whole(
    reach: Callable[[], Payment], refunded: str, returned: str, status: str
) -> None:
    payment = reach()
    waiting = discrepancy(payment)
    assert refund_accounting.open_discrepancies(payment) == [waiting]
    refund = reserve_all(waiting)
    payment = now(payment)
    assert (payment.refunded, payment.returned) == (units(payment, refunded), 0)
    resolved = Discrepancy.objects.get(pk=waiting.pk)
    assert (resolved.status, resolved.resolved_by) == (DiscrepancyStatus.REFUNDED, refund.public_id)
    assert resolved.resolved_at is not None
    assert refund_accounting.open_discrepancies(payment) == []
    assert [kind for kind, _ in balance_changes(payment)] == (["payment"] if reach is too_much else [])
    assert_all_is_well()

    # It fails, and can be tried again or accepted.
    before, told = events(payment), ["payment.updated"] if payment.refunded else []
    assert before[-1:] == told or not told
    payment = give_back(refund)
    assert payment.refunded == 0
    assert discrepancies(payment) == [(waiting.kind, waiting.amount)]
    reopened = Discrepancy.objects.get(pk=waiting.pk)
    assert (reopened.resolved_by, reopened.resolved_at) == ("", None)
    assert events(payment) == [*before, *told]
    assert_all_is_well()

    fill_hot_wallet(waiting.network, waiting.asset)
    payment = complete(reserve_all(reopened))
    assert (payment.status, payment.returned) == (status, units(payment, returned))
    assert events(payment) == [*before, *told, *told, "payment.refunded"]
    assert payment.completed_at is None or reach is too_much
    assert_all_is_well()


def test_a_surplus_that_went_back_leaves_the_price_to_be_refunded() -> None:
    payment = too_much()
    fill_hot_wallet(ETHEREUM, "USDC")
    payment = complete(reserve_all(discrepancy(payment)))
    assert refund_accounting.refundable(payment) == payment.due
    payment = refund_all(payment)
    assert (payment.status, payment.refunded, payment.returned) == ("refunded", units(payment, "130"), payment.due)
    assert books(payment) == {"chain:deposit": units(payment, "130")}
    assert_all_is_well()


def test_the_price_goes_back_and_the_surplus_waits() -> None:
    payment = too_much()
    fill_hot_wallet(ETHEREUM, "USDC")
    payment = refund_all(payment)
    assert (payment.status, payment.returned) == ("refunded", payment.due)
    assert refund_accounting.open_discrepancies(payment) == [discrepancy(payment)]
    payment = complete(reserve_all(discrepancy(payment)))
    assert (payment.status, payment.refunded) == ("refunded", units(payment, "130"))
    assert_all_is_well()


def test_accepted_money_is_no_longer_in_suspense() -> None:
    payment = too_much()
    waiting = discrepancy(payment)
    accept_discrepancy(waiting, resolved_by="Ada")
    before = everything()
    with pytest.raises(DiscrepancyResolved) as refusal:
        reserve_all(waiting)
    assert refusal.value.param == "discrepancyId"
    assert everything() == before
    assert refund_accounting.refundable(now(payment)) == payment.due


def test_nothing_in_suspense_is_refunded_twice() -> None:
    payment = too_late()
    waiting = discrepancy(payment)
    reserve_all(waiting)
    with pytest.raises(DiscrepancyResolved):
        reserve_all(waiting)
    with pytest.raises(DiscrepancyResolved):
        accept_discrepancy(waiting, resolved_by="Ada")


@pytest.mark.parametrize("amount", [1, 10**9])
def test_money_in_suspense_goes_back_whole_or_not_at_all(amount: int) -> None:
    payment = too_much()
    with pytest.raises(RuntimeError, match="is not"):
        reserve(payment, amount, discrepancy(payment))
    with pytest.raises(RuntimeError, match="is not"):
        reserve(completed(), units(payment, "30"), discrepancy(payment))


def test_a_cancelled_payment_s_late_money_goes_back_and_it_stays_cancelled() -> None:
    payment = cancel_payment(make_payment(ETHEREUM))
    pay_and_confirm(payment)
    fill_hot_wallet(ETHEREUM, "USDC")
    payment = complete(reserve_all(discrepancy(payment)))
    assert (payment.status, payment.refunded) == ("cancelled", 0)
    assert events(payment)[-1] == "payment.refunded"
    assert_all_is_well()
