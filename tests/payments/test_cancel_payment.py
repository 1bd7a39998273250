"""POST /payments/:id/cancel: only while nothing has been seen."""

from __future__ import annotations

from typing import Any

import pytest

from merchants import counting
from payments.models import PAYMENTS, Payment
from payments.services import PaymentNotCancellable, cancel_payment
from tests.factories import api_client, make_key, make_merchant
from tests.payments.scenes import (
    ETHEREUM,
    HELD_IN,
    NETWORKS,
    PRODUCTION,
    STELLAR,
    assert_all_is_well,
    books,
    discrepancies,
    end_window,
    events,
    everything,
    make_payment,
    mine,
    mine_and_watch,
    now,
    pay,
    pay_and_confirm,
    read,
    reorganise,
)

pytestmark = pytest.mark.django_db


def cancel(payment: Payment, body: Any = None) -> Any:
    return api_client(make_key(payment.merchant)).call(
        "POST", f"/payments/{payment.public_id}/cancel", json_body=body if body is not None else {}
    )


def count(payment: Payment, status: str) -> int:
    return counting.total(PAYMENTS, merchant_id=payment.merchant_id, environment=payment.environment, statuses=[status])


def test_an_unpaid_payment_is_cancelled() -> None:
    payment = make_payment()
    reply = cancel(payment)
    assert reply.status_code == 200
    record = reply.json()
    cancelled = now(payment)
    assert cancelled.status == "cancelled"
    assert cancelled.cancelled_at is not None
    assert (record["id"], record["status"], record["version"]) == (payment.public_id, "cancelled", 2)
    assert record["cancelledAt"][:19] == cancelled.cancelled_at.isoformat()[:19]
    assert (record["completedAt"], record["amountReceived"]) == (None, "0.000000")
    assert events(payment) == ["payment.created", "payment.cancelled"]
    assert (count(payment, "created"), count(payment, "cancelled")) == (0, 1)
    assert_all_is_well()


def test_cancelling_again_changes_nothing() -> None:
    payment = cancel_payment(make_payment())
    before = everything()
    reply = cancel(payment)
    assert (reply.status_code, reply.json()["status"], reply.json()["version"]) == (200, "cancelled", 2)
    assert everything() == before


def assert_not_cancellable(payment: Payment, message: str) -> None:
    before = everything()
    reply = cancel(payment)
    assert reply.status_code == 400
    error = reply.json()["error"]
    assert (error["type"], error["code"], error["message"]) == (
        "invalid_request_error",
        "payment_not_cancellable",
        message,
    )
    with pytest.raises(PaymentNotCancellable):
        cancel_payment(payment)
    assert everything() == before


SEEN = "A payment can be cancelled only while nothing has been paid and its window is open."


def test_a_payment_whose_money_has_been_seen_cannot_be_cancelled() -> None:
    payment = make_payment(ETHEREUM)
    pay(payment)
    mine_and_watch(ETHEREUM)
    assert now(payment).status == "pending"
    assert_not_cancellable(payment, SEEN)


def test_not_even_before_the_seen_money_has_been_assessed() -> None:
    payment = make_payment(ETHEREUM)
    pay(payment, "0.01")
    mine(ETHEREUM)
    read(ETHEREUM)
    assert now(payment).status == "created"
    assert_not_cancellable(payment, SEEN)


def test_nor_when_another_coin_has_been_seen() -> None:
    payment = make_payment(ETHEREUM)
    pay_and_confirm(payment, "5", coin="DAI")
    assert_not_cancellable(payment, SEEN)


def test_a_completed_payment_cannot_be_cancelled() -> None:
    payment = make_payment(STELLAR)
    pay_and_confirm(payment)
    instead = "To give its money back, create a refund (POST /refunds)."
    assert_not_cancellable(payment, f"This payment is completed and cannot be cancelled. {instead}")


def test_an_expired_payment_cannot_be_cancelled() -> None:
    payment = end_window(make_payment(STELLAR))
    assert_not_cancellable(payment, "This payment is expired and cannot be cancelled.")


def test_a_payment_whose_only_transfer_was_undone_can_be_cancelled() -> None:
    payment = make_payment(ETHEREUM)
    pay(payment)
    mine_and_watch(ETHEREUM)
    reorganise(payment, 1, "dropped")
    cancelled = cancel_payment(payment)
    assert (cancelled.status, events(payment)[-1]) == ("cancelled", "payment.cancelled")
    assert_all_is_well()


@pytest.mark.parametrize("network", NETWORKS)
def test_a_cancelled_payment_credits_late_money_to_suspense(network: str) -> None:
    payment = cancel_payment(make_payment(network))
    payment = pay_and_confirm(payment)
    assert (payment.status, payment.status_reasons, payment.received) == ("cancelled", ["late"], 0)
    assert books(payment) == {HELD_IN[network]: payment.due, "suspense:late": payment.due}
    assert discrepancies(payment) == [("late", payment.due)]
    assert events(payment) == ["payment.created", "payment.cancelled", "payment.late"]
    assert_all_is_well()


def test_money_that_stood_in_a_block_nobody_had_read_is_late_too() -> None:
    payment = make_payment(STELLAR)
    pay(payment)
    mine(STELLAR)
    cancel_payment(payment)
    mine_and_watch(STELLAR)
    assert (now(payment).status, discrepancies(payment)) == ("cancelled", [("late", payment.due)])
    assert_all_is_well()


@pytest.mark.parametrize(
    ("body", "code"),
    [({"reason": "bored"}, "unknown_parameter"), ([], "invalid_json"), ("x", "invalid_json")],
)
def test_a_cancellation_takes_no_parameters(body: Any, code: str) -> None:
    payment = make_payment()
    before = everything()
    reply = cancel(payment, body)
    assert (reply.status_code, reply.json()["error"]["code"]) == (400, code)
    assert everything() == before


def test_somebody_else_s_payment_looks_like_none() -> None:
    payment = make_payment()
    before = everything()
    own_elsewhere = api_client(make_key(payment.merchant, PRODUCTION))
    stranger = api_client(make_key(make_merchant()))
    answers = []
    for client, payment_id in [
        (stranger, payment.public_id),
        (own_elsewhere, payment.public_id),
        (stranger, "pay_00000000000000000000000000"),
    ]:
        reply = client.call("POST", f"/payments/{payment_id}/cancel", json_body={})
        error = reply.json()["error"]
        del error["requestId"]
        answers.append((reply.status_code, error))
    assert answers == [
        (404, {"type": "not_found_error", "code": "resource_missing", "message": "No such payment."})
    ] * len(answers)
    assert everything() == before
