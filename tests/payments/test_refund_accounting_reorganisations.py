"""What a reorganisation undoes after it was refunded."""

from __future__ import annotations

import pytest

from payments.models import Discrepancy
from payments.states import DiscrepancyStatus
from payments.suspense import refund_accounting
from payments.suspense.acceptance import accept_discrepancy
from payments.suspense.refund_accounting import RefundExceedsPayment
from tests.payments import scenes
from tests.payments.refunds import (
    REFUNDS_ASIDE,
    assert_all_is_well,
    balance_changes,
    books,
    complete,
    fill_hot_wallet,
    give_back,
    refund_all,
    reserve,
    reserve_all,
    unfinal,
)
from tests.payments.scenes import (
    ETHEREUM,
    discrepancies,
    discrepancy,
    events,
    make_payment,
    mine,
    mine_and_watch,
    now,
    pay,
    reorganise,
    units,
)

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("part", ["100", "40"])
@pytest.mark.parametrize("final", [True, False])
def test_money_refunded_before_it_was_undone_is_owed_by_the_merchant(part: str, final: bool) -> None:
    payment, transaction_hash = unfinal()
    refund = reserve(payment, units(payment, part))
    if final:
        complete(refund)
    payment = reorganise(payment, 6, "dropped", only=[transaction_hash])
    taken = units(payment, part)
    assert (payment.status, payment.received, payment.released) == ("created", 0, 0)
    assert (payment.refunded, payment.returned) == (taken, taken if final else 0)
    assert "reversed" in payment.status_reasons
    assert refund_accounting.refundable(payment) == 0
    owed = {"merchant:receivable": taken}
    assert books(payment) == (owed if final else owed | {"payout": taken})
    assert_only_receivables_are_missing()


def test_a_refund_that_fails_after_its_money_was_undone_pays_the_debt() -> None:
    payment, transaction_hash = unfinal()
    refund = reserve(payment, units(payment, "40"))
    reorganise(payment, 6, "dropped", only=[transaction_hash])
    payment = give_back(refund)
    assert (payment.refunded, payment.status) == (0, "created")
    assert books(payment) == {}
    assert sum(amount for _, amount in balance_changes(payment)) == 0
    assert_all_is_well()


def test_a_refunded_payment_is_refunded_again_when_its_transfer_comes_back() -> None:
    payment, transaction_hash = unfinal()
    refund_all(payment)
    payment = reorganise(payment, 6, "moved", only=[transaction_hash])
    assert payment.status == "created"
    mine_and_watch(ETHEREUM)
    assert now(payment).status == "pending"
    mine_and_watch(ETHEREUM, 2)
    payment = now(payment)
    assert (payment.status, payment.released, payment.returned) == ("refunded", payment.due, payment.due)
    assert refund_accounting.refundable(payment) == 0
    assert books(payment) == {"chain:deposit": payment.due}
    told = ["payment.updated", "payment.refunded", "payment.reversed", "payment.pending", "payment.refunded"]
    assert events(payment)[2:] == told
    with pytest.raises(RefundExceedsPayment):
        reserve(payment, 1)
    assert_all_is_well()


@pytest.mark.parametrize("final", [True, False])
def test_a_surplus_that_went_back_and_was_undone_is_owed_too(final: bool) -> None:
    payment, transaction_hash = unfinal("130")
    refund = reserve_all(discrepancy(payment))
    if final:
        complete(refund)
    payment = reorganise(payment, 6, "dropped", only=[transaction_hash])
    thirty = units(payment, "30")
    assert discrepancies(payment, DiscrepancyStatus.VOID) == [("overpaid", thirty)]
    owed = {"merchant:receivable": thirty}
    assert books(payment) == (owed if final else owed | {"payout": thirty})
    assert_only_receivables_are_missing()
    if not final:
        payment = give_back(refund)
        assert (payment.refunded, books(payment)) == (0, {})
        assert Discrepancy.objects.get().status == DiscrepancyStatus.VOID
        assert_all_is_well()


def test_a_surplus_that_went_back_and_comes_again_goes_back_once() -> None:
    payment, transaction_hash = unfinal("130")
    complete(reserve_all(discrepancy(payment)))
    reorganise(payment, 6, "moved", only=[transaction_hash])
    mine_and_watch(ETHEREUM, 3)
    payment = now(payment)
    # What was given back counts against the price now, and the surplus waits again: no more than came in can leave.
    assert (payment.status, payment.refunded, payment.surplus) == ("completed", *[units(payment, "30")] * 2)
    assert refund_accounting.refundable(payment) == units(payment, "70")
    assert_all_is_well()
    complete(reserve(payment, units(payment, "70")))
    complete(reserve_all(discrepancy(payment)))
    payment = now(payment)
    assert payment.refunded == payment.received
    assert_all_is_well()


@pytest.mark.parametrize("final", [True, False])
def test_short_money_that_went_back_and_was_undone_is_owed_too(final: bool) -> None:
    payment, transaction_hash = unfinal("60")
    payment = scenes.end_window(payment)
    refund = reserve_all(discrepancy(payment))
    if final:
        complete(refund)
    payment = reorganise(payment, 6, "dropped", only=[transaction_hash])
    sixty = units(payment, "60")
    assert payment.status == "expired"
    owed = {"merchant:receivable": sixty}
    assert books(payment) == (owed if final else owed | {"payout": sixty})
    assert_only_receivables_are_missing()


def test_short_money_that_went_back_and_comes_again_repays_the_merchant() -> None:
    payment, transaction_hash = unfinal("60")
    payment = scenes.end_window(payment)
    complete(reserve_all(discrepancy(payment)))
    reorganise(payment, 6, "moved", only=[transaction_hash])
    mine_and_watch(ETHEREUM, 3)
    payment = now(payment)
    assert (payment.status, payment.short) == ("refunded", units(payment, "60"))
    assert refund_accounting.open_discrepancies(payment) == []  # it went back once already
    with pytest.raises(RefundExceedsPayment):
        reserve_all(discrepancy(payment))
    accept_discrepancy(discrepancy(payment), resolved_by="Ada")
    payment = now(payment)
    assert (payment.status, books(payment)) == ("refunded", {"chain:deposit": units(payment, "60")})
    assert_all_is_well()


def test_half_of_refunded_short_money_undone_leaves_the_other_half_waiting() -> None:
    mine(ETHEREUM, 7)
    payment = make_payment(ETHEREUM)
    pay(payment, "30")
    mine_and_watch(ETHEREUM)
    second = pay(payment, "30")
    mine_and_watch(ETHEREUM, 3)
    payment = scenes.end_window(payment)
    refund = reserve_all(discrepancy(payment))
    payment = reorganise(payment, 4, "dropped", only=[second])
    thirty = units(payment, "30")
    assert (payment.status, discrepancies(payment)) == ("underpaid", [("underpaid", thirty)])
    assert refund_accounting.open_discrepancies(payment) == []  # more than that is on its way back already
    assert_only_receivables_are_missing()
    payment = give_back(refund)
    assert books(payment) == {"chain:deposit": thirty, "suspense:underpaid": thirty}
    assert refund_accounting.open_discrepancies(payment) == [discrepancy(payment)]
    assert_all_is_well()


@pytest.mark.parametrize("final", [True, False])
@pytest.mark.parametrize("coin", ["USDC", "USDT"])
def test_money_held_for_another_reason_that_went_back_and_was_undone_is_owed_too(coin: str, final: bool) -> None:
    payment, _ = unfinal()
    payment = scenes.end_window(payment)
    transaction_hash = pay(payment, "25", coin=coin)
    mine_and_watch(ETHEREUM, 3)
    if coin != "USDC":
        fill_hot_wallet(ETHEREUM, coin)
    refund = reserve_all(discrepancy(payment))
    assert now(payment).refunded == 0
    if final:
        complete(refund)
    payment = reorganise(payment, 3, "dropped", only=[transaction_hash])
    left = sum(amount for _, amount in balance_changes(payment))
    assert left == payment.due - units(payment, "25", coin=coin)
    assert payment.refunded == 0
    if not final:
        payment = give_back(refund)
        assert sum(amount for _, amount in balance_changes(payment)) == payment.due
    assert now(payment).status == "completed"
    assert_only_receivables_are_missing()


def test_a_completed_refund_of_an_undone_payment_is_told_all_the_same() -> None:
    payment, transaction_hash = unfinal()
    refund = reserve(payment, payment.due)
    reorganise(payment, 6, "dropped", only=[transaction_hash])
    payment = complete(refund)
    assert (payment.status, payment.returned, events(payment)[-1]) == ("created", payment.due, "payment.refunded")
    assert payment.version == 5
    assert_only_receivables_are_missing()


def assert_only_receivables_are_missing() -> None:
    """All is well but for what merchants owe, which I14 warns of."""
    found = scenes.findings(without=REFUNDS_ASIDE)
    assert set(found) <= {"I14"}, found
    assert all(finding.severity == "warning" for finding in found.get("I14", []))
