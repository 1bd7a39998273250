"""Real threads on real connections. The race for a payment's money also runs without its guard, and then goes wrong."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest

from payments.transfers.execution import executor
from payments.transfers.owners import follow_payouts
from refunds import tasks
from refunds.models import Refund
from refunds.plans.planning import NewRefund
from refunds.services import (
    RefundHasDestination,
    RefundNotCancellable,
    cancel_refund,
    create_refund,
    give_destination,
)
from refunds.states import NamedBy
from tests.payments.scenes import SANDBOX, STELLAR, assert_all_is_well, findings
from tests.refunds.racing import paid_payments, race, rounds, without_the_payments_lock
from tests.refunds.scenes import ask, fresh, paid_by_two, send, told, wallet
from tests.transfers.scenes import on_chain

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS, THREADS = 10, 16


def test_of_sixteen_who_ask_for_sixty_per_cent_one_gets_it() -> None:
    for each in rounds(ROUNDS, THREADS):
        assert (each.granted, each.refused, each.errors) == (1, THREADS - 1, ())
        assert not each.is_over_refunded
    assert_all_is_well()
    send(rounds=2)
    assert set(Refund.objects.values_list("status", flat=True)) == {"completed"}
    assert on_chain(STELLAR, wallet()) == ROUNDS * 60 * 10**7
    assert_all_is_well()


@pytest.mark.slow
def test_without_the_lock_several_get_it() -> None:
    with without_the_payments_lock():
        played = rounds(ROUNDS, THREADS)
    assert sum(each.is_over_refunded for each in played) >= 0.8 * ROUNDS
    assert "R1" in findings()  # and reconcile would see it


@pytest.mark.slow
def test_without_the_lock_the_versions_of_events_still_let_one_get_it() -> None:
    with without_the_payments_lock(with_events=True):
        [played] = rounds(1, THREADS)
    assert played.granted == 1
    assert not played.is_over_refunded
    assert_all_is_well()


def test_a_refund_cancelled_while_it_is_sent_ends_one_way_or_the_other() -> None:
    asked = NewRefund(destination=wallet())
    refunds = [create_refund(payment=payment, request=asked, requested_by="race") for payment in paid_payments(10)]

    def cancel_all() -> Counter[str]:
        outcomes: Counter[str] = Counter()
        for refund in refunds:
            try:
                cancel_refund(refund)
                outcomes["cancelled"] += 1
            except RefundNotCancellable:
                outcomes["refused"] += 1
        return outcomes

    def send_all() -> None:
        for _ in range(5):
            executor.run_round(SANDBOX, STELLAR)
            follow_payouts()

    outcomes, *others = race([cancel_all, send_all, follow_payouts])
    assert others[0] is None
    assert isinstance(others[1], int)
    send(rounds=2)
    ended = Counter(Refund.objects.values_list("status", flat=True))
    assert ended == Counter(cancelled=outcomes["cancelled"], completed=outcomes["refused"])
    assert on_chain(STELLAR, wallet()) == sum(
        fresh(each).amount for each in refunds if fresh(each).status == "completed"
    )
    assert_all_is_well()


def test_of_several_who_name_an_address_at_once_one_does() -> None:
    refund = ask(paid_by_two())
    names = [f"number {number}" for number in range(8)]
    outcomes = race(
        [partial(give_destination, refund, address=wallet(name=name), named_by=NamedBy.PAYER) for name in names]
    )
    given = [name for name, outcome in zip(names, outcomes, strict=True) if isinstance(outcome, Refund)]
    assert len(given) == 1
    assert sum(isinstance(outcome, RefundHasDestination) for outcome in outcomes) == 7
    assert fresh(refund).destination == wallet(name=given[0])
    assert told(refund) == ["created", "requires_action", "pending"]


def test_workers_side_by_side_resolve_and_follow_each_refund_once() -> None:
    asked = NewRefund()
    refunds = [create_refund(payment=payment, request=asked, requested_by="race") for payment in paid_payments(6)]
    assert race([tasks.resolve_destinations] * 4) == [None] * 4
    executor.run_round(SANDBOX, STELLAR)
    assert sum(race([follow_payouts] * 4)) >= len(refunds)
    send(rounds=2)
    assert {tuple(told(refund)) for refund in refunds} == {("created", "pending", "processing", "completed")}
    assert_all_is_well()
