"""What a reorganisation does to a payment, to the ledger and to a merchant who has spent the money already.

Ethereum credits after three blocks and is final after seven, so that there is something to undo.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from merchants.models import Merchant
from payments.chains.simulated import control
from payments.chains.simulated.models import SimulatedTransfer
from payments.models import Payment
from payments.states import DiscrepancyStatus
from payments.suspense.acceptance import accept_discrepancy
from tests.payments.scenes import (
    ETHEREUM,
    POLYGON,
    assert_all_is_well,
    books,
    deposit_of,
    discrepancies,
    discrepancy,
    end_window,
    events,
    findings,
    make_merchant_who,
    make_payment,
    mine,
    mine_and_watch,
    now,
    pay,
    reorganise,
    spend,
    units,
    watch,
)
from tests.worlds import populated_once

pytestmark = pytest.mark.django_db

CREDIT_BLOCKS = 3


def ready(merchant: Merchant | None = None) -> Payment:
    """A payment of 100 on an ethereum with some history, so that its newest blocks can be replaced."""
    mine(ETHEREUM, 7)
    return make_payment(ETHEREUM, merchant=merchant)


def seen(payment: Payment) -> str:
    transaction_hash = pay(payment)
    mine_and_watch(ETHEREUM)
    return transaction_hash


def completed(payment: Payment) -> str:
    transaction_hash = pay(payment)
    mine_and_watch(ETHEREUM, CREDIT_BLOCKS)
    return transaction_hash


def overpaid(payment: Payment) -> str:
    transaction_hash = pay(payment, "130")
    mine_and_watch(ETHEREUM, CREDIT_BLOCKS)
    return transaction_hash


def underpaid(payment: Payment) -> str:
    transaction_hash = pay(payment, "60")
    mine_and_watch(ETHEREUM, CREDIT_BLOCKS)
    return transaction_hash


def closed(payment: Payment) -> str:
    transaction_hash = underpaid(payment)
    end_window(payment)
    return transaction_hash


def held_late(payment: Payment) -> str:
    end_window(payment)
    return completed(payment)


def wrong_token(payment: Payment) -> str:
    transaction_hash = pay(payment, "100", coin="USDT")
    mine_and_watch(ETHEREUM, CREDIT_BLOCKS)
    return transaction_hash


@dataclass(frozen=True)
class Case:
    """A payment and what it is before its deposit is undone, without it, and once it is back and confirmed."""

    reach: Callable[[Payment], str]
    before: tuple[str, dict[str, str]]
    without: str
    told: tuple[str, ...]
    open_before: tuple[tuple[str, str], ...] = ()


CASES = [
    Case(seen, ("pending", {}), "created", ("payment.reversed",)),
    Case(
        completed,
        ("completed", {"chain:deposit": "100", "merchant:available": "100"}),
        "created",
        ("payment.reversed",),
    ),
    Case(
        overpaid,
        ("completed", {"chain:deposit": "130", "merchant:available": "100", "suspense:overpaid": "30"}),
        "created",
        ("payment.reversed",),
        (("overpaid", "30"),),
    ),
    Case(underpaid, ("underpaid", {"chain:deposit": "60", "payment": "60"}), "created", ("payment.reversed",)),
    Case(
        closed,
        ("underpaid", {"chain:deposit": "60", "suspense:underpaid": "60"}),
        "expired",
        ("payment.reversed", "payment.expired"),
        (("underpaid", "60"),),
    ),
    Case(
        held_late,
        ("expired", {"chain:deposit": "100", "suspense:late": "100"}),
        "expired",
        ("payment.reversed",),
        (("late", "100"),),
    ),
    Case(
        wrong_token,
        ("created", {"ethereum USDT chain:deposit": "100", "ethereum USDT suspense:wrong_token": "100"}),
        "created",
        ("payment.reversed",),
        (("wrong_token", "100"),),
    ),
]


def in_units(payment: Payment, amounts: dict[str, str]) -> dict[str, int]:
    return {name: units(payment, amount) for name, amount in amounts.items()}


@populated_once
def reached(case: Case) -> tuple[Payment, str]:
    payment = ready()
    transaction_hash = case.reach(payment)
    payment = now(payment)
    status, amounts = case.before
    assert (payment.status, books(payment)) == (status, in_units(payment, amounts))
    assert discrepancies(payment) == [(kind, units(payment, amount)) for kind, amount in case.open_before]
    assert_all_is_well()
    return payment, transaction_hash


@pytest.mark.parametrize("outcome", ["dropped", "replaced"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.reach.__name__)
def test_a_transfer_that_is_undone_leaves_nothing_behind(case: Case, outcome: control.Outcome) -> None:
    payment, transaction_hash = reached(case)
    told = events(payment)
    payment = reorganise(payment, 6, outcome, only=[transaction_hash])
    assert (payment.status, payment.received, books(payment)) == (case.without, 0, {})
    assert (payment.released, payment.surplus, payment.short, payment.closed_at) == (0, 0, 0, None)
    assert events(payment) == [*told, *case.told]
    assert (deposit_of(transaction_hash).status, deposit_of(transaction_hash).booked_to) == ("orphaned", "")
    assert discrepancies(payment) == []
    assert len(discrepancies(payment, DiscrepancyStatus.VOID)) == len(case.open_before)
    assert_all_is_well()

    # However the chain goes on, the transfer stays undone.
    mine_and_watch(ETHEREUM, 10)
    assert (now(payment).status, books(payment)) == (case.without, {})
    assert_all_is_well()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.reach.__name__)
def test_a_transfer_that_is_mined_again_is_credited_again(case: Case) -> None:
    payment, transaction_hash = reached(case)
    status, amounts = case.before
    first_block_time = deposit_of(transaction_hash).first_block_time
    for _ in range(3):
        reorganise(payment, 6, "moved", only=[transaction_hash])
        assert books(payment) == {}
        assert_all_is_well()
        mine_and_watch(ETHEREUM, CREDIT_BLOCKS)
        assert_all_is_well()
    payment = now(payment)
    assert payment.status == (status if status != "pending" else "completed")
    expected = in_units(payment, amounts)
    if case.reach is seen:
        expected = {"chain:deposit": payment.due, "merchant:available": payment.due}
    assert books(payment) == expected
    assert discrepancies(payment) == [(kind, units(payment, amount)) for kind, amount in case.open_before]
    assert len(discrepancies(payment, DiscrepancyStatus.VOID)) == 3 * len(case.open_before)
    deposit = deposit_of(transaction_hash)
    assert deposit.first_block_time == first_block_time  # being mined again later does not make it late
    assert payment.deposit_count == 1
    assert "payment.reversed" in events(payment)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.reach.__name__)
def test_blocks_that_are_replaced_with_the_transfer_kept_change_nothing_for_long(case: Case) -> None:
    payment, transaction_hash = reached(case)
    block_hash = deposit_of(transaction_hash).block_hash
    told = events(payment)
    payment = reorganise(payment, 6, "kept")
    status, amounts = case.before
    assert deposit_of(transaction_hash).block_hash != block_hash
    # Deep enough in its new block already: nothing is undone, nobody is told.
    assert (payment.status, books(payment), events(payment)) == (status, in_units(payment, amounts), told)
    assert_all_is_well()


def test_a_transfer_the_watcher_never_missed_in_its_old_block_is_not_undone() -> None:
    payment = ready()
    transaction_hash = pay(payment)
    mine_and_watch(ETHEREUM, CREDIT_BLOCKS)
    control.reorg(ETHEREUM, 3, "moved", only=[transaction_hash])
    mine(ETHEREUM, CREDIT_BLOCKS)  # moved, and deep enough again before anybody looked
    watch()
    payment = now(payment)
    assert (payment.status, events(payment)) == ("completed", ["payment.created", "payment.completed"])
    assert books(payment) == {"chain:deposit": payment.due, "merchant:available": payment.due}
    assert_all_is_well()


def test_half_of_the_money_undone_leaves_the_other_half() -> None:
    payment = ready()
    first = pay(payment, "60")
    mine_and_watch(ETHEREUM)
    second = pay(payment, "70")
    mine_and_watch(ETHEREUM, CREDIT_BLOCKS)
    assert books(payment) == in_units(
        payment, {"chain:deposit": "130", "merchant:available": "100", "suspense:overpaid": "30"}
    )
    payment = reorganise(payment, 3, "dropped", only=[second])
    assert (deposit_of(first).status, deposit_of(second).status) == ("credited", "orphaned")
    assert (payment.status, payment.received, payment.released, payment.surplus) == (
        "underpaid",
        units(payment, "60"),
        0,
        0,
    )
    assert books(payment) == in_units(payment, {"chain:deposit": "60", "payment": "60"})
    assert discrepancies(payment) == []
    assert payment.status_reasons == ["reversed", "underpaid"]
    assert_all_is_well()


def test_a_surplus_undone_leaves_the_payment_completed() -> None:
    payment = ready()
    pay(payment)
    mine_and_watch(ETHEREUM, 2)
    extra = pay(payment, "30")
    mine_and_watch(ETHEREUM, CREDIT_BLOCKS)
    assert discrepancies(payment) == [("overpaid", units(payment, "30"))]
    payment = reorganise(payment, 3, "dropped", only=[extra])
    assert (payment.status, payment.surplus) == ("completed", 0)
    assert books(payment) == {"chain:deposit": payment.due, "merchant:available": payment.due}
    assert discrepancies(payment) == []
    assert events(payment)[-1] == "payment.reversed"
    assert_all_is_well()


def test_late_money_within_the_grace_is_undone_like_any_other() -> None:
    payment = ready(make_merchant_who(late_payments="accept"))
    end_window(payment)
    transaction_hash = completed(payment)
    assert (now(payment).status, now(payment).status_reasons) == ("completed", ["late"])
    payment = reorganise(payment, 3, "dropped", only=[transaction_hash])
    assert (payment.status, books(payment)) == ("expired", {})
    assert_all_is_well()


# The same on-chain transaction runs again in another block and moves something else, as a swap may.


def test_late_money_that_was_accepted_is_late_again_when_it_comes_back() -> None:
    payment = ready()
    transaction_hash = held_late(payment)
    accept_discrepancy(discrepancy(payment), resolved_by="jo")
    assert now(payment).status == "completed"
    control.reorg(ETHEREUM, 6, "moved", only=[transaction_hash])
    mine_and_watch(ETHEREUM)  # the old block and the new one are read at once
    payment = now(payment)
    assert deposit_of(transaction_hash).status == "seen"
    assert (payment.status, payment.received, books(payment)) == ("expired", 0, {})
    mine_and_watch(ETHEREUM, CREDIT_BLOCKS)
    assert now(payment).status == "expired"
    assert books(payment) == {"chain:deposit": payment.due, "suspense:late": payment.due}
    assert discrepancies(payment) == [("late", payment.due)]
    assert_all_is_well()


def run_again(payment: Payment, transaction_hash: str, **changed: Any) -> Payment:
    control.reorg(ETHEREUM, 6, "moved", only=[transaction_hash])
    SimulatedTransfer.objects.filter(transaction__transaction_hash=transaction_hash).update(**changed)
    mine_and_watch(ETHEREUM)
    watch()
    return now(payment)


@pytest.mark.parametrize("reach", [seen, completed])
def test_a_transfer_that_moved_another_amount_the_second_time_counts_with_that(
    reach: Callable[[Payment], str],
) -> None:
    payment = ready()
    transaction_hash = reach(payment)
    payment = run_again(payment, transaction_hash, amount=units(payment, "99"))
    assert (payment.status, payment.received, books(payment)) == ("pending", 0, {})
    assert deposit_of(transaction_hash).amount == units(payment, "99")
    assert_all_is_well()
    mine_and_watch(ETHEREUM, CREDIT_BLOCKS)
    payment = now(payment)
    assert (payment.status, payment.deposit_count) == ("underpaid", 1)
    assert books(payment) == in_units(payment, {"chain:deposit": "99", "payment": "99"})
    assert_all_is_well()


def test_even_when_it_is_final_before_anybody_looks() -> None:
    payment = ready()
    transaction_hash = completed(payment)
    control.reorg(ETHEREUM, 3, "moved", only=[transaction_hash])
    SimulatedTransfer.objects.filter(transaction__transaction_hash=transaction_hash).update(amount=5)
    mine_and_watch(ETHEREUM, 20)
    watch()
    payment = now(payment)
    assert (payment.status, payment.received) == ("underpaid", 5)
    assert books(payment) == {"chain:deposit": 5, "payment": 5}
    assert_all_is_well()


def test_a_transfer_that_went_to_another_payment_the_second_time_counts_there() -> None:
    payment = ready()
    other = make_payment(ETHEREUM)
    transaction_hash = completed(payment)
    payment = run_again(payment, transaction_hash, recipient=other.deposit_address)
    mine_and_watch(ETHEREUM, CREDIT_BLOCKS)
    assert (now(payment).status, now(other).status, now(other).deposit_count) == ("created", "completed", 1)
    assert books(other) == in_units(other, {"chain:deposit": "100", "merchant:available": "100"})
    assert_all_is_well()


# The merchant has spent it.


@pytest.mark.parametrize("spent", ["100", "30"])
def test_money_the_merchant_has_spent_is_owed_when_the_chain_takes_it_back(spent: str) -> None:
    payment = ready()
    transaction_hash = completed(payment)
    spend(payment, spent)
    payment = reorganise(payment, 3, "dropped", only=[transaction_hash])
    assert (payment.status, payment.released) == ("created", 0)
    owed = units(payment, spent)
    assert books(payment) == {"merchant:receivable": owed, "payout": owed}
    assert_solvent_but_for_receivables()


def test_money_released_again_in_the_same_assessment_repays_what_its_reversal_left_owing() -> None:
    payment = ready()
    pay(payment)
    mine_and_watch(ETHEREUM, 2)
    surplus = pay(payment, "50")
    mine_and_watch(ETHEREUM, CREDIT_BLOCKS)
    spend(payment, "100")
    payment = reorganise(payment, 3, "dropped", only=[surplus])
    assert (payment.status, payment.released, payment.surplus) == ("completed", payment.due, 0)
    assert books(payment) == {"chain:deposit": payment.due, "payout": payment.due}
    assert_all_is_well()


def test_what_comes_back_repays_what_is_owed() -> None:
    payment = ready()
    transaction_hash = completed(payment)
    spend(payment, "100")
    reorganise(payment, 3, "moved", only=[transaction_hash])
    mine_and_watch(ETHEREUM, CREDIT_BLOCKS)
    payment = now(payment)
    assert (payment.status, payment.released) == ("completed", payment.due)
    assert books(payment) == {"chain:deposit": payment.due, "payout": payment.due}
    assert_all_is_well()


def test_the_next_payment_repays_what_is_owed_before_anything_is_available() -> None:
    payment = ready()
    transaction_hash = completed(payment)
    spend(payment, "100")
    payment = reorganise(payment, 3, "dropped", only=[transaction_hash])
    other = make_payment(ETHEREUM, merchant=payment.merchant, amount="150")
    pay(other)
    mine_and_watch(ETHEREUM, CREDIT_BLOCKS)
    assert now(other).status == "completed"
    rest = other.due - payment.due
    assert books(other) == {"chain:deposit": other.due, "merchant:available": rest, "payout": payment.due}
    assert_all_is_well()


def test_other_payments_money_covers_what_was_spent_first() -> None:
    payment = ready()
    other = make_payment(ETHEREUM, merchant=payment.merchant)
    pay(other)
    mine(ETHEREUM, 4)
    transaction_hash = completed(payment)
    spend(payment, "150")
    payment = reorganise(payment, 3, "dropped", only=[transaction_hash])
    assert now(other).status == "completed"
    assert books(payment) == in_units(payment, {"chain:deposit": "100", "merchant:receivable": "50", "payout": "150"})
    assert_solvent_but_for_receivables()


def assert_solvent_but_for_receivables() -> None:
    """All is well but for what merchants owe, which I14 warns of."""
    found = findings()
    assert set(found) <= {"I14"}
    assert all(finding.severity == "warning" for finding in found.get("I14", []))


# Polygon credits final blocks only: a reorganisation finds nothing to undo.


def test_polygon_credits_nothing_a_reorganisation_could_undo() -> None:
    mine(POLYGON, 4)
    payment = make_payment(POLYGON)
    pay(payment)
    for _ in range(2):
        mine_and_watch(POLYGON)
        assert (now(payment).status, books(payment)) == ("pending", {})
    payment = reorganise(payment, 2, "dropped")
    assert (payment.status, books(payment)) == ("created", {})
    pay(payment)
    mine_and_watch(POLYGON, 3)
    with pytest.raises(control.ReorgTooDeep):
        control.reorg(POLYGON, 3, "dropped")
    assert now(payment).status == "completed"
    assert_all_is_well()


def test_a_large_amount_on_ethereum_waits_for_finality() -> None:
    mine(ETHEREUM, 7)
    small, large = make_payment(ETHEREUM, amount="999.99"), make_payment(ETHEREUM, amount="1000")
    assert (small.required_confirmations, small.require_finalized) == (3, False)
    assert (large.required_confirmations, large.require_finalized) == (1, True)
    pay(small)
    pay(large)
    mine_and_watch(ETHEREUM, 6)
    assert (now(small).status, now(large).status) == ("completed", "pending")
    mine_and_watch(ETHEREUM)
    assert now(large).status == "completed"
    assert_all_is_well()
