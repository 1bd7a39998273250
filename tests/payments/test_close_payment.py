"""POST /payments/:id/close: the time of a payment that has received too little ends early, by what has been read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from payments import tasks
from payments.deposits.finality_halts import halt_network
from payments.deposits.models import ScanCursor
from payments.models import Payment
from payments.records import payment_record
from payments.services import cancel_payment, close_payment
from payments.suspense.acceptance import accept_discrepancy
from payments.terms import NETWORK_SILENCE_MAX
from refunds.plans.planning import NewRefund
from refunds.services import create_refund
from tests.factories import api_client, make_key
from tests.payments.scenes import (
    ETHEREUM,
    HELD_IN,
    NETWORKS,
    STELLAR,
    assert_all_is_well,
    assert_events_tell_the_records,
    books,
    confirm,
    cursor_of,
    discrepancies,
    discrepancy,
    end_window,
    events,
    everything,
    make_merchant_who,
    make_payment,
    mine,
    mine_and_watch,
    now,
    pay,
    pay_and_confirm,
    read,
    reorganise,
    units,
)
from tests.refunds.scenes import send, wallet

pytestmark = pytest.mark.django_db


def close(payment: Payment) -> Any:
    return api_client(make_key(payment.merchant)).call("POST", f"/payments/{payment.public_id}/close", json_body={})


def short(network: str = ETHEREUM, amount: str = "60.5", **options: Any) -> Payment:
    return pay_and_confirm(make_payment(network, **options), amount)


@pytest.mark.parametrize("network", NETWORKS)
def test_what_came_waits_at_once_and_the_time_ends_where_the_network_was_read(network: str) -> None:
    payment = short(network)
    reply = close(payment)
    record, closed = reply.json(), now(payment)
    assert (reply.status_code, record["status"], record["amountDue"]) == (200, "underpaid", "0.000000")
    assert closed.expires_at == closed.closes_at == cursor_of(network).read_until
    assert closed.expires_at < payment.expires_at
    assert record["expiresAt"][:19] == closed.expires_at.isoformat()[:19]
    assert discrepancies(payment) == [("underpaid", units(payment, "60.5"))]
    assert books(payment) == {HELD_IN[network]: closed.short, "suspense:underpaid": closed.short}
    assert events(payment)[-1] == "payment.updated"
    assert_events_tell_the_records()
    before = everything()
    assert close(payment).json()["version"] == record["version"]
    assert everything() == before
    assert_all_is_well()


def test_the_end_of_the_time_is_told_when_it_comes_by_itself() -> None:
    payment = end_window(short(merchant=make_merchant_who(late_payments="accept")))
    told = events(payment)
    assert payment_record(payment)["closedAt"] is None
    Payment.objects.filter(pk=payment.pk).update(closes_at=payment.expires_at)  # the grace is over
    mine_and_watch(payment.network)
    tasks.expire_due()
    payment = now(payment)
    assert payment.closed_at is not None
    assert payment_record(payment)["closedAt"][:19] == payment.closed_at.isoformat()[:19]
    assert events(payment) == [*told, "payment.updated"]
    assert_events_tell_the_records()
    accept_discrepancy(discrepancy(payment), resolved_by="jo@example.com")
    assert payment_record(now(payment))["closedAt"] is None
    assert_events_tell_the_records()


def test_accepted_early_it_is_completed_and_the_rest_is_late() -> None:
    payment = short()
    close_payment(payment)
    accept_discrepancy(discrepancy(payment), resolved_by="jo@example.com", note="enough")
    assert (now(payment).status, now(payment).released) == ("completed", units(payment, "60.5"))

    payment = pay_and_confirm(payment, "39.5")
    assert (payment.status, discrepancies(payment)) == ("completed", [("late", units(payment, "39.5"))])
    accept_discrepancy(discrepancy(payment), resolved_by="jo@example.com", note="the rest")
    assert (now(payment).released, discrepancies(payment)) == (payment.due, [])
    assert_all_is_well()


def test_given_back_early_it_is_refunded_and_so_is_the_rest() -> None:
    payment = short(STELLAR)
    close_payment(payment)
    for amount in ("60.5", "39.5"):
        asked = NewRefund(discrepancy=discrepancy(payment), destination=wallet())
        refund = create_refund(payment=payment, request=asked, requested_by="jo@example.com")
        assert refund.amount == units(payment, amount)
        if amount == "60.5":
            payment = pay_and_confirm(payment, "39.5")
    send()
    assert (now(payment).status, discrepancies(payment)) == ("refunded", [])
    assert_all_is_well()


def test_money_in_a_block_that_nobody_had_read_is_late() -> None:
    payment = short(STELLAR)
    pay(payment, "39.5")
    mine(STELLAR)
    close_payment(payment)
    mine_and_watch(STELLAR)
    assert discrepancies(payment) == [("underpaid", units(payment, "60.5")), ("late", units(payment, "39.5"))]
    accept_discrepancy(discrepancy(payment, "underpaid"), resolved_by="jo@example.com")
    accept_discrepancy(discrepancy(payment, "late"), resolved_by="jo@example.com")
    assert (now(payment).status, now(payment).released) == ("completed", payment.due)
    assert_all_is_well()


def test_a_grace_ends_as_well() -> None:
    payment = end_window(short(merchant=make_merchant_who(late_payments="accept")))
    assert (payment.closed_at, payment.expires_at < timezone.now() < payment.closes_at) == (None, True)
    closed = close_payment(payment)
    assert (closed.expires_at, closed.closes_at) == (payment.expires_at, cursor_of(ETHEREUM).read_until)
    payment = pay_and_confirm(payment, "39.5")
    assert [kind for kind, _ in discrepancies(payment)] == ["underpaid", "late"]
    assert_all_is_well()


def test_a_transfer_that_a_reorganisation_moved_counts_in_time_and_waits_again() -> None:
    payment = make_payment(ETHEREUM)
    pay(payment, "60.5")
    mine_and_watch(ETHEREUM, payment.required_confirmations)
    close_payment(payment)
    accept_discrepancy(discrepancy(payment), resolved_by="jo@example.com")
    payment = reorganise(payment, payment.required_confirmations, "moved")
    confirm(payment)
    tasks.expire_due()
    mine_and_watch(ETHEREUM)
    assert (now(payment).status, discrepancies(payment)) == ("underpaid", [("underpaid", units(payment, "60.5"))])
    assert_all_is_well()


def test_one_that_is_gone_for_good_leaves_a_payment_whose_time_is_over() -> None:
    payment = make_payment(ETHEREUM)
    pay(payment, "60.5")
    mine_and_watch(ETHEREUM, payment.required_confirmations)
    close_payment(payment)
    payment = reorganise(payment, payment.required_confirmations, "dropped")
    mine_and_watch(ETHEREUM)
    tasks.expire_due()
    mine_and_watch(ETHEREUM)
    assert (now(payment).status, discrepancies(payment), books(payment)) == ("expired", [], {})
    assert_all_is_well()


# Refusals.


def nothing_came() -> Payment:
    return make_payment()


def all_came() -> Payment:
    return pay_and_confirm(make_payment())


def cancelled() -> Payment:
    return cancel_payment(make_payment())


def accepted() -> Payment:
    payment = close_payment(short())
    accept_discrepancy(discrepancy(payment), resolved_by="jo@example.com")
    return now(payment)


def rest_confirms() -> Payment:
    payment = short()
    pay(payment, "39.5")
    mine_and_watch(ETHEREUM)
    return now(payment)


def part_of_the_rest_confirms() -> Payment:
    payment = short()
    pay(payment, "1")
    mine_and_watch(ETHEREUM)
    return now(payment)


def rest_is_read_and_not_assessed() -> Payment:
    payment = short(STELLAR)
    pay(payment, "39.5")
    mine(STELLAR)
    read(STELLAR)
    return now(payment)


def undone_and_not_assessed() -> Payment:
    payment = short(ETHEREUM)
    payment.deposits.update(status="orphaned")
    return now(payment)


def silent() -> Payment:
    payment = short()
    ScanCursor.objects.update(polled_at=timezone.now() - NETWORK_SILENCE_MAX - timedelta(seconds=1))
    return payment


def halted() -> Payment:
    payment = short()
    halt_network(cursor_of(payment.network), "a final block has changed")
    return payment


REFUSED = (
    (nothing_came, "payment_not_closable", "This payment is created"),
    (all_came, "payment_not_closable", "This payment is completed"),
    (cancelled, "payment_not_closable", "This payment is cancelled"),
    (accepted, "payment_not_closable", "This payment is completed"),
    (rest_confirms, "payment_not_closable", "This payment is pending"),
    (part_of_the_rest_confirms, "payment_not_closable", "More has been seen"),
    (rest_is_read_and_not_assessed, "payment_not_closable", "More has been seen"),
    (undone_and_not_assessed, "payment_not_closable", "More has been seen"),
    (silent, "network_unavailable", "Its network cannot be read"),
    (halted, "network_unavailable", "Its network cannot be read"),
)


@pytest.mark.parametrize(("scene", "code", "message"), REFUSED, ids=lambda each: getattr(each, "__name__", None))
def test_nothing_is_closed_while_more_may_be_about_to_count(
    scene: Callable[[], Payment], code: str, message: str
) -> None:
    payment = scene()
    before = everything()
    error = close(payment).json()["error"]
    assert (error["code"], error["message"].startswith(message)) == (code, True), error
    assert everything() == before
