"""Deciding about money in suspense: the merchant may have it."""

from __future__ import annotations

import pytest

from config.errors import InvalidParameter
from payments.chains.simulated import control
from payments.models import Discrepancy, Payment
from payments.services import cancel_payment
from payments.states import DiscrepancyStatus
from payments.suspense.acceptance import DiscrepancyResolved, accept_discrepancy
from tests.payments.scenes import (
    ETHEREUM,
    HELD_IN,
    NETWORKS,
    POLYGON,
    STELLAR,
    assert_all_is_well,
    books,
    confirm,
    discrepancies,
    discrepancy,
    end_window,
    events,
    everything,
    make_merchant_who,
    make_payment,
    mine_and_watch,
    now,
    pay,
    pay_and_confirm,
    pay_without_memo,
    reorganise,
    units,
    watch,
)
from tests.stopping import halt, lift_halt

pytestmark = pytest.mark.django_db


def accept(payment: Payment, kind: str = "") -> Payment:
    accept_discrepancy(discrepancy(payment, kind), resolved_by="Ada", note="fine by us")
    watch()
    assert_all_is_well()
    return now(payment)


@pytest.mark.parametrize("network", NETWORKS)
def test_short_money_that_is_accepted_completes_the_payment(network: str) -> None:
    payment = make_payment(network)
    pay_and_confirm(payment, "99.5")
    payment = end_window(payment)
    short = units(payment, "99.5")
    assert (payment.status, payment.short) == ("underpaid", short)
    assert books(payment) == {HELD_IN[network]: short, "suspense:underpaid": short}
    assert discrepancies(payment) == [("underpaid", short)]

    payment = accept(payment)
    assert (payment.status, payment.status_reasons, payment.received) == ("completed", ["underpaid"], short)
    assert (payment.released, payment.short, payment.closed_at) == (short, 0, None)
    assert books(payment) == {HELD_IN[network]: short, "merchant:available": short}
    told = ["payment.created", "payment.underpaid", "payment.updated", "payment.completed"]  # the window was moved
    assert events(payment) == told


def test_a_decision_says_who_made_it_when_and_why() -> None:
    payment = make_payment(STELLAR)
    pay_and_confirm(payment, "101")
    accept(payment)
    decided = Discrepancy.objects.get()
    assert (decided.status, decided.resolved_by, decided.note) == ("accepted", "Ada", "fine by us")
    assert decided.resolved_at is not None


def test_a_surplus_that_is_accepted_is_the_merchant_s() -> None:
    payment = make_payment(STELLAR)
    pay_and_confirm(payment, "130")
    assert books(now(payment))["suspense:overpaid"] == units(payment, "30")
    payment = accept(payment)
    assert (payment.status, payment.received, payment.released) == (
        "completed",
        units(payment, "130"),
        units(payment, "100"),
    )
    assert books(payment) == {"chain:hot": units(payment, "130"), "merchant:available": units(payment, "130")}
    assert events(payment) == ["payment.created", "payment.completed", "payment.overpaid"]


def test_late_money_that_is_accepted_completes_an_expired_payment() -> None:
    payment = make_payment(STELLAR)
    end_window(payment)
    payment = pay_and_confirm(payment)
    assert (payment.status, discrepancies(payment)) == ("expired", [("late", payment.due)])
    payment = accept(payment)
    assert (payment.status, payment.status_reasons) == ("completed", ["late"])
    assert books(payment) == {"chain:hot": payment.due, "merchant:available": payment.due}
    assert events(payment) == ["payment.created", "payment.expired", "payment.late", "payment.completed"]


def test_late_money_that_is_accepted_is_enough_even_when_it_is_short() -> None:
    payment = make_payment(STELLAR)
    end_window(payment)
    pay_and_confirm(payment, "40")
    payment = accept(payment)
    assert (payment.status, payment.status_reasons) == ("completed", ["late", "underpaid"])
    assert books(payment) == {"chain:hot": units(payment, "40"), "merchant:available": units(payment, "40")}


def test_late_money_beyond_what_is_due_asks_about_the_surplus() -> None:
    payment = make_payment(STELLAR)
    end_window(payment)
    pay_and_confirm(payment, "110")
    payment = accept(payment)
    assert (payment.status, payment.released) == ("completed", units(payment, "100"))
    assert discrepancies(payment) == [("overpaid", units(payment, "10"))]
    payment = accept(payment)
    assert books(payment) == {"chain:hot": units(payment, "110"), "merchant:available": units(payment, "110")}


def test_late_money_for_a_completed_payment_is_extra_once_accepted() -> None:
    payment = make_payment(STELLAR)
    pay_and_confirm(payment)
    end_window(payment)
    pay_and_confirm(payment, "25")
    payment = accept(payment, "late")
    assert (payment.status, payment.received) == ("completed", units(payment, "100"))
    assert discrepancies(payment) == []
    assert books(payment) == {"chain:hot": units(payment, "125"), "merchant:available": units(payment, "125")}


@pytest.mark.parametrize("order", [("late", "underpaid"), ("underpaid", "late")])
def test_late_and_short_money_are_decided_one_by_one(order: tuple[str, str]) -> None:
    payment = make_payment(STELLAR)
    pay_and_confirm(payment, "60")
    end_window(payment)
    payment = pay_and_confirm(payment, "40")
    assert (payment.status, sorted(discrepancies(payment))) == (
        "underpaid",
        [("late", units(payment, "40")), ("underpaid", units(payment, "60"))],
    )
    first, second = order
    payment = accept(payment, first)
    kept = units(payment, {"late": "40", "underpaid": "60"}[first])
    assert books(payment)["merchant:available"] == kept
    assert payment.status == {"late": "underpaid", "underpaid": "completed"}[first]
    payment = accept(payment, second)
    assert payment.status == "completed"
    assert discrepancies(payment) == []
    assert books(payment) == {"chain:hot": units(payment, "100"), "merchant:available": units(payment, "100")}


def test_late_money_accepted_while_short_money_still_counts_makes_the_payment_whole() -> None:
    payment = make_payment(STELLAR, merchant=make_merchant_who(late_payments="accept"))
    pay_and_confirm(payment, "60")
    end_window(payment)  # the grace goes on
    payment = pay_and_confirm(payment, "30")
    assert (payment.status, discrepancies(payment)) == ("underpaid", [("late", units(payment, "30"))])
    payment = accept(payment)
    assert (payment.status, payment.received) == ("completed", units(payment, "90"))
    assert books(payment) == {"chain:hot": units(payment, "90"), "merchant:available": units(payment, "90")}


def test_another_coin_that_is_accepted_is_the_merchant_s_in_that_coin() -> None:
    payment = make_payment(ETHEREUM, "USDC")
    pay_and_confirm(payment, "7.5", coin="DAI")
    payment = accept(payment)
    assert (payment.status, payment.received, payment.status_reasons) == ("created", 0, ["wrong_token"])
    kept = 7_500_000_000_000_000_000
    assert books(payment) == {"ethereum DAI chain:deposit": kept, "ethereum DAI merchant:available": kept}


def test_money_on_another_network_that_is_accepted_is_the_merchant_s_there() -> None:
    payment = make_payment(ETHEREUM)
    pay_and_confirm(payment, "100", network=POLYGON)
    payment = accept(payment)
    assert (payment.status, payment.received) == ("created", 0)
    kept = units(payment, "100", network=POLYGON)
    assert books(payment) == {"polygon USDC chain:deposit": kept, "polygon USDC merchant:available": kept}
    # And the payment itself can still be paid.
    payment = pay_and_confirm(payment)
    assert (payment.status, payment.status_reasons) == ("completed", ["wrong_network"])
    assert_all_is_well()


def test_a_cancelled_payment_s_late_money_goes_to_the_balance_and_it_stays_cancelled() -> None:
    payment = cancel_payment(make_payment(STELLAR))
    payment = pay_and_confirm(payment)
    assert (payment.status, discrepancies(payment)) == ("cancelled", [("late", payment.due)])
    payment = accept(payment)
    assert (payment.status, payment.received, payment.released) == ("cancelled", 0, 0)
    assert books(payment) == {"chain:hot": payment.due, "merchant:available": payment.due}
    assert events(payment) == ["payment.created", "payment.cancelled", "payment.late"]


def test_nothing_is_accepted_twice() -> None:
    payment = make_payment(STELLAR)
    pay_and_confirm(payment, "130")
    open_one = discrepancy(payment)
    accept(payment)
    before = everything()
    with pytest.raises(DiscrepancyResolved) as refusal:
        accept_discrepancy(open_one, resolved_by="Grace")
    assert refusal.value.code == "discrepancy_resolved"
    assert everything() == before


def test_money_that_names_no_payment_cannot_be_accepted() -> None:
    payment = make_payment(STELLAR)
    pay_without_memo(payment, "100")
    confirm(payment)
    before = everything()
    with pytest.raises(InvalidParameter, match="attribute it to one first"):
        accept_discrepancy(Discrepancy.objects.get(), resolved_by="Ada")
    assert everything() == before


def test_a_decision_on_a_halted_network_is_kept_and_assessed_when_it_goes_on() -> None:
    payment = make_payment(STELLAR)
    pay_and_confirm(payment, "99.5")
    payment = end_window(payment)
    halt(STELLAR)
    accept_discrepancy(discrepancy(payment), resolved_by="Ada")
    watch()
    payment = now(payment)
    short = units(payment, "99.5")
    assert payment.status == "underpaid"
    assert payment.assess_at is not None
    assert books(payment) == {"chain:hot": short, "payment": short}

    lift_halt(STELLAR)
    watch()
    assert now(payment).status == "completed"
    assert books(payment) == {"chain:hot": short, "merchant:available": short}
    assert_all_is_well()


# What the chain takes back after a decision.


def complete_by_accepting(kind: str) -> tuple[Payment, str]:
    """A payment on ethereum of 100 that a person completed with the 60 that came, short or late; not yet final."""
    payment = make_payment(ETHEREUM)
    control.mine(ETHEREUM, 6)
    if kind == "late":
        end_window(payment)
    transaction_hash = pay(payment, "60")
    mine_and_watch(ETHEREUM, 3)
    if kind == "underpaid":
        end_window(payment)
    payment = accept(payment)
    sixty = units(payment, "60")
    assert (payment.status, payment.released, payment.accepted) == ("completed", sixty, True)
    assert books(payment) == {"chain:deposit": sixty, "merchant:available": sixty}
    return payment, transaction_hash


@pytest.mark.parametrize("kind", ["underpaid", "late"])
def test_accepted_money_that_is_reorganised_away_is_no_longer_enough(kind: str) -> None:
    payment, _ = complete_by_accepting(kind)
    payment = reorganise(payment, 5, "dropped")
    assert (payment.status, payment.received, payment.accepted) == ("expired", 0, False)
    assert books(payment) == {}
    assert discrepancies(payment, DiscrepancyStatus.ACCEPTED) == []
    assert discrepancies(payment, DiscrepancyStatus.VOID) == [(kind, units(payment, "60"))]
    assert events(payment)[-2:] == ["payment.reversed", "payment.expired"]
    assert_all_is_well()


@pytest.mark.parametrize("kind", ["underpaid", "late"])
def test_accepted_money_that_comes_back_in_another_block_waits_for_a_person_again(kind: str) -> None:
    payment, transaction_hash = complete_by_accepting(kind)
    for _ in range(2):  # as often as the network likes
        reorganise(payment, 5, "moved", only=[transaction_hash])
        assert_all_is_well()
        payment = confirm_again(payment)
        sixty = units(payment, "60")
        assert discrepancies(payment) == [(kind, sixty)]
        assert books(payment) == {"chain:deposit": sixty, f"suspense:{kind}": sixty}
        payment = accept(payment)
        assert (payment.status, books(payment)) == ("completed", {"chain:deposit": sixty, "merchant:available": sixty})


def confirm_again(payment: Payment) -> Payment:
    mine_and_watch(payment.network, 3)
    return now(payment)


def test_a_smaller_payment_is_not_enough_because_a_lost_one_was() -> None:
    payment = make_payment(ETHEREUM)
    control.mine(ETHEREUM, 6)
    pay(payment, "60")
    mine_and_watch(ETHEREUM)
    pay(payment, "0.5")
    mine_and_watch(ETHEREUM, 2)
    [large, small] = payment.deposits.order_by("height")
    payment = end_window(payment)
    payment = accept(payment)
    assert payment.released == units(payment, "60.5")

    payment = reorganise(payment, 5, "dropped", only=[large.transaction_hash])
    payment = confirm_again(payment)
    half = units(payment, "0.5")
    assert (payment.status, payment.received, payment.released) == ("underpaid", half, 0)
    assert payment.deposits.get(status="credited").transaction_hash == small.transaction_hash
    assert books(payment) == {"chain:deposit": half, "suspense:underpaid": half}
    assert discrepancies(payment) == [("underpaid", half)]
    assert_all_is_well()


def test_what_is_left_of_accepted_money_is_not_enough_because_all_of_it_was() -> None:
    payment = make_payment(ETHEREUM)
    control.mine(ETHEREUM, 6)
    pay(payment, "0.5")
    mine_and_watch(ETHEREUM, 5)
    pay(payment, "60")
    mine_and_watch(ETHEREUM, 2)
    payment = accept(end_window(payment))
    assert payment.released == units(payment, "60.5")

    payment = reorganise(payment, 4, "dropped")
    half = units(payment, "0.5")
    assert (payment.status, payment.received, payment.released, payment.accepted) == ("underpaid", half, 0, False)
    assert books(payment) == {"chain:deposit": half, "suspense:underpaid": half}
    assert_all_is_well()


def test_accepted_surplus_and_other_money_that_is_reorganised_away_leaves_the_balance() -> None:
    payment = make_payment(ETHEREUM)
    control.mine(ETHEREUM, 6)
    pay(payment, "130")
    pay(payment, "5", coin="USDT")
    mine_and_watch(ETHEREUM, 3)
    payment = accept(payment, "overpaid")
    payment = accept(payment, "wrong_token")
    assert books(payment) == {
        "chain:deposit": units(payment, "130"),
        "merchant:available": units(payment, "130"),
        "ethereum USDT chain:deposit": units(payment, "5"),
        "ethereum USDT merchant:available": units(payment, "5"),
    }
    payment = reorganise(payment, 3, "dropped")
    assert (payment.status, payment.received, books(payment)) == ("created", 0, {})
    assert sorted(discrepancies(payment, DiscrepancyStatus.VOID)) == [
        ("overpaid", units(payment, "30")),
        ("wrong_token", units(payment, "5")),
    ]
    assert_all_is_well()


def test_a_cancelled_payment_s_accepted_money_that_is_reorganised_away_leaves_the_balance() -> None:
    payment = cancel_payment(make_payment(ETHEREUM))
    pay(payment)
    mine_and_watch(ETHEREUM, 3)
    payment = accept(payment)
    assert books(payment)["merchant:available"] == payment.due
    payment = reorganise(payment, 3, "dropped")
    assert (payment.status, books(payment)) == ("cancelled", {})
    assert events(payment)[-1] == "payment.reversed"
    assert_all_is_well()
