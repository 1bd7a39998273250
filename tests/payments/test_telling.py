"""Whatever changes a payment's record changes its version, and an event carries the record as it is then."""

from __future__ import annotations

import pytest

from payments import services, tasks
from payments.models import Payment
from tests.payments import refunds
from tests.payments.scenes import (
    ETHEREUM,
    assert_all_is_well,
    assert_events_tell_the_records,
    events,
    make_merchant_who,
    make_payment,
    mine,
    mine_and_watch,
    now,
    pay,
    pay_and_confirm,
    units,
    watch,
)
from webhooks.models import Event

pytestmark = pytest.mark.django_db


def last_told(payment: Payment, field: str) -> object:
    return Event.objects.about(payment.pk).order_by("-version", "-id")[0].payload[field]


def test_the_rest_of_a_payment_that_the_tolerance_completed_is_told() -> None:
    payment = make_payment(ETHEREUM, merchant=make_merchant_who(payment_tolerance_bps=50))
    payment = pay_and_confirm(payment, "99.5")
    assert (payment.status, payment.version) == ("completed", 2)
    payment = pay_and_confirm(payment, "0.5")
    assert (payment.released, payment.version) == (payment.due, 3)
    assert events(payment) == ["payment.created", "payment.completed", "payment.updated"]
    assert (last_told(payment, "amountReceived"), last_told(payment, "statusReasons")) == ("100.000000", [])
    assert_events_tell_the_records()
    assert_all_is_well()


def test_a_refund_that_is_reserved_or_comes_back_is_told_with_what_it_leaves() -> None:
    payment = refunds.completed()
    before = payment.version
    reserved = refunds.reserve(payment, units(payment, "30"))
    assert last_told(payment, "amountRefunded") == "30.000000"
    assert now(payment).version == before + 1
    refunds.give_back(reserved)
    assert last_told(payment, "amountRefunded") == "0.000000"
    assert now(payment).version == before + 2
    assert events(payment)[-2:] == ["payment.updated", "payment.updated"]
    assert_events_tell_the_records()


def test_a_part_that_is_confirmed_while_another_is_awaited_is_told() -> None:
    mine(ETHEREUM, 8)
    payment = make_payment(ETHEREUM)
    pay(payment, "60")
    mine_and_watch(ETHEREUM, 2)
    pay(payment, "40")
    mine_and_watch(ETHEREUM, 2)
    payment = now(payment)
    assert (payment.status, payment.received) == ("pending", units(payment, "60"))
    assert events(payment)[-1] == "payment.updated"
    assert_events_tell_the_records()


def test_a_window_that_is_moved_in_the_sandbox_is_told() -> None:
    payment = make_payment(ETHEREUM)
    watch()
    services.end_window(payment)
    watch()
    assert events(payment) == ["payment.created", "payment.updated"]
    assert_events_tell_the_records()
    mine_and_watch(ETHEREUM)
    tasks.expire_due()
    assert events(payment) == ["payment.created", "payment.updated", "payment.expired"]


def test_a_window_that_is_over_at_once_is_told_by_its_end_alone() -> None:
    payment = make_payment(ETHEREUM)
    services.end_window(payment)
    mine_and_watch(ETHEREUM)
    assert events(payment) == ["payment.created", "payment.expired"]
    assert_events_tell_the_records()
