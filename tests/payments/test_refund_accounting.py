"""What refunds take from a payment's own money, what they give back to it, and what the payment says of that."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from merchants import counting
from payments.chains.simulated import control
from payments.chains.simulated.networks import address_named
from payments.models import PAYMENTS, Payment
from payments.suspense import refund_accounting
from payments.suspense.refund_accounting import InsufficientBalance, RefundExceedsPayment
from tests.factories import make_merchant
from tests.payments import scenes
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
)
from tests.payments.scenes import (
    ETHEREUM,
    SANDBOX,
    discrepancy,
    end_window,
    events,
    everything,
    make_merchant_who,
    make_payment,
    now,
    part_of,
    pay_and_confirm,
    units,
)
from webhooks.models import Event

pytestmark = pytest.mark.django_db


# The payment's own money.


def test_all_of_a_completed_payment_can_be_refunded() -> None:
    payment = completed()
    assert refund_accounting.refundable(payment) == payment.due
    refund = reserve(payment, payment.due)
    payment = now(payment)
    assert (payment.status, payment.refunded, payment.returned, payment.version) == ("completed", payment.due, 0, 3)
    assert refund_accounting.refundable(payment) == 0
    assert books(payment) == {"chain:deposit": payment.due, "payout": payment.due}
    assert balance_changes(payment) == [("payment", payment.due), ("refund", -payment.due)]
    assert_all_is_well()

    fill_hot_wallet(ETHEREUM, "USDC")
    completed_at = payment.completed_at
    payment = complete(refund)
    assert (payment.status, payment.returned, payment.version) == ("refunded", payment.due, 4)
    assert payment.completed_at == completed_at
    assert events(payment) == ["payment.created", "payment.completed", "payment.updated", "payment.refunded"]
    assert books(payment) == {"chain:deposit": payment.due}
    assert_all_is_well()


def test_the_event_carries_the_payment_as_it_is_now() -> None:
    payment = completed()
    fill_hot_wallet(ETHEREUM, "USDC")
    payment = complete(reserve(payment, units(payment, "40")))
    told = Event.objects.about(payment.pk).order_by("id").last()
    assert told is not None
    assert (told.type, told.version) == ("payment.refunded", 4)
    assert (told.payload["status"], told.payload["amountRefunded"], told.payload["version"]) == (
        "partially_refunded",
        "40.000000",
        4,
    )
    assert [each["status"] for each in told.payload["transfers"]] == ["credited"]
    assert told.payload["confirmations"] == told.payload["requiredConfirmations"]


def test_several_refunds_add_up_to_all_of_it() -> None:
    payment = completed()
    fill_hot_wallet(ETHEREUM, "USDC")
    statuses = []
    for part in ("40", "59.999999", "0.000001"):
        statuses.append(complete(reserve(now(payment), units(payment, part))).status)
        assert_all_is_well()
    assert statuses == ["partially_refunded", "partially_refunded", "refunded"]
    assert now(payment).version == 8  # each of the three was set aside, and then given back
    with pytest.raises(RefundExceedsPayment):
        reserve(now(payment), 1)


def test_the_status_follows_what_has_arrived_not_what_is_reserved() -> None:
    payment = completed()
    fill_hot_wallet(ETHEREUM, "USDC")
    first, second = reserve(payment, units(payment, "60")), reserve(now(payment), units(payment, "40"))
    assert now(payment).status == "completed"
    assert complete(second).status == "partially_refunded"
    assert give_back(first).status == "partially_refunded"
    assert refund_accounting.refundable(now(payment)) == units(payment, "60")
    assert_all_is_well()


@pytest.mark.parametrize(("taken", "asked"), [("60", "40.000001"), ("100", "0.000001"), ("0.000001", "100")])
def test_no_more_than_is_left_can_be_reserved(taken: str, asked: str) -> None:
    payment = completed()
    reserve(payment, units(payment, taken))
    before = everything()
    with pytest.raises(RefundExceedsPayment) as refusal:
        reserve(now(payment), units(payment, asked))
    assert (refusal.value.code, refusal.value.param) == ("refund_exceeds_payment", "amount")
    assert everything() == before


def test_money_of_other_payments_is_never_taken() -> None:
    merchant = make_merchant()
    payment = completed(merchant=merchant)
    completed(merchant=merchant)
    with pytest.raises(RefundExceedsPayment):
        reserve(payment, payment.due + 1)


def test_what_has_been_settled_cannot_be_refunded() -> None:
    payment = completed()
    scenes.spend(payment, "70")
    before = everything()
    with pytest.raises(InsufficientBalance) as refusal:
        reserve(payment, units(payment, "30.000001"))
    assert (refusal.value.code, refusal.value.param) == ("insufficient_balance", "amount")
    assert everything() == before
    reserve(payment, units(payment, "30"))
    assert now(payment).refunded == units(payment, "30")


def test_the_database_itself_refuses_to_give_back_more_than_was_received() -> None:
    payment = completed()
    with pytest.raises(IntegrityError, match="payment_refunded_at_most_received"), transaction.atomic():
        Payment.objects.filter(pk=payment.pk).update(refunded=payment.due + 1)
    with pytest.raises(IntegrityError, match="payment_returned_was_reserved"), transaction.atomic():
        Payment.objects.filter(pk=payment.pk).update(returned=1)


def test_a_refund_that_fails_leaves_everything_as_it_was() -> None:
    payment = completed()
    before = now(payment).__dict__ | {"_state": None}
    refund = reserve(payment, units(payment, "25"))
    payment = give_back(refund)
    assert now(payment).__dict__ | {"_state": None} == before | {"version": before["version"] + 2}
    assert events(payment) == ["payment.created", "payment.completed", "payment.updated", "payment.updated"]
    assert books(payment) == {"chain:deposit": payment.due, "merchant:available": payment.due}
    quarter = units(payment, "25")
    assert balance_changes(payment) == [("payment", payment.due), ("refund", -quarter), ("refund_failed", quarter)]
    assert_all_is_well()


def test_each_refund_is_reserved_and_given_back_once() -> None:
    payment = completed()
    refund = reserve(payment, units(payment, "25"))
    give_back(refund)
    with pytest.raises(IntegrityError), transaction.atomic():
        give_back(refund)  # its posting stands, so that no money moves a second time
    assert now(payment).refunded == 0
    assert_all_is_well()


def test_a_tolerated_payment_is_refunded_when_all_that_came_is_back() -> None:
    payment = make_payment(ETHEREUM, merchant=make_merchant_who(payment_tolerance_bps=50))
    payment = pay_and_confirm(payment, "99.5")
    fill_hot_wallet(ETHEREUM, "USDC")
    payment = refund_all(payment)
    assert (payment.status, payment.returned) == ("refunded", units(payment, "99.5"))
    # The rest comes after all, in time.
    payment = pay_and_confirm(payment, "0.5")
    assert (payment.status, payment.released) == ("partially_refunded", payment.due)
    assert refund_accounting.refundable(payment) == units(payment, "0.5")
    assert_all_is_well()


def test_assessing_a_refunded_payment_again_changes_nothing() -> None:
    payment = completed()
    fill_hot_wallet(ETHEREUM, "USDC")
    for part in ("30", "70"):
        payment = complete(reserve(now(payment), units(payment, part)))
        before = everything()
        scenes.assess(payment)
        scenes.assess(payment)
        assert everything()[2:] == before[2:]
        end_window(payment)  # of which an event tells
        assert everything()[4:] == before[4:]
        assert now(payment).status == payment.status


def test_the_counters_follow() -> None:
    payment = completed()
    fill_hot_wallet(ETHEREUM, "USDC")
    refund_all(payment)

    def count(status: str) -> int:
        return counting.total(PAYMENTS, merchant_id=payment.merchant_id, environment=SANDBOX, statuses=[status])

    assert (count("completed"), count("refunded")) == (0, 1)


# Who paid.


def test_one_sender_is_known_and_several_are_not() -> None:
    payment = make_payment(ETHEREUM)
    assert refund_accounting.sender_of(payment, None) is None
    first = control.pay_together(ETHEREUM, [part_of(payment, "40")], sender=address_named(ETHEREUM, "Ada"))
    scenes.confirm(payment)
    assert refund_accounting.sender_of(payment, None) == scenes.deposit_of(first).sender
    control.pay_together(ETHEREUM, [part_of(payment, "20")], sender=address_named(ETHEREUM, "Ada"))
    scenes.confirm(payment)
    assert refund_accounting.sender_of(payment, None) == address_named(ETHEREUM, "Ada")
    control.pay_together(ETHEREUM, [part_of(payment, "70")], sender=address_named(ETHEREUM, "Bob"))
    scenes.confirm(payment)
    assert refund_accounting.sender_of(payment, None) is None
    assert (
        refund_accounting.sender_of(payment, discrepancy(payment)) is None
    )  # nobody knows whose money the surplus was


def test_money_that_never_counted_came_from_whom_its_transfer_says() -> None:
    payment = completed()
    ada = address_named(ETHEREUM, "Ada")
    control.pay_together(ETHEREUM, [part_of(payment, "5", coin="DAI")], sender=ada)
    scenes.confirm(payment)
    assert refund_accounting.sender_of(payment, discrepancy(payment)) == ada
    assert refund_accounting.sender_of(payment, None) != ada
