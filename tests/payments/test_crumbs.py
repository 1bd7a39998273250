"""What is too little to decide about: it is the merchant's, or the house's where it belongs to no payment."""

from __future__ import annotations

import pytest

from payments import tasks
from payments.models import Discrepancy, Payment
from payments.states import DiscrepancyStatus
from payments.suspense import small_remainders
from tests.payments.scenes import (
    ETHEREUM,
    STELLAR,
    assert_all_is_well,
    assert_events_tell_the_records,
    books,
    confirm,
    discrepancies,
    end_window,
    events,
    make_payment,
    mine_and_watch,
    now,
    pay,
    pay_and_confirm,
    pay_units,
    pay_without_memo,
    reorganise,
    units,
)

pytestmark = pytest.mark.django_db

CREDIT_BLOCKS = 3


def paid_over(surplus: int, coin: str = "DAI") -> Payment:
    payment = make_payment(ETHEREUM, coin)
    pay_units(payment, payment.due + surplus)
    return confirm(payment)


@pytest.mark.parametrize(("coin", "surplus"), [("DAI", 1), ("DAI", 10**16 - 1), ("USDC", 1), ("USDC", 9_999)])
def test_a_crumb_over_the_price_is_the_merchants_without_a_decision(coin: str, surplus: int) -> None:
    payment = paid_over(surplus, coin)
    assert (payment.status, payment.status_reasons) == ("completed", [])
    assert (payment.released, payment.surplus) == (payment.due + surplus, 0)
    assert not Discrepancy.objects.exists()
    assert books(payment)["merchant:available"] == payment.due + surplus
    assert events(payment) == ["payment.created", "payment.completed"]
    assert_all_is_well()


def test_a_hundredth_over_the_price_waits() -> None:
    payment = paid_over(10**16)
    assert (payment.status_reasons, payment.released) == (["overpaid"], payment.due)
    assert discrepancies(payment) == [("overpaid", 10**16)]


def test_crumbs_of_one_payment_count_together() -> None:
    payment = paid_over(6 * 10**15)
    pay_units(payment, 3 * 10**15)
    payment = confirm(payment)
    assert (payment.released, payment.surplus) == (payment.due + 9 * 10**15, 0)
    pay_units(payment, 3 * 10**15)
    payment = confirm(payment)
    assert (payment.released, payment.surplus) == (payment.due + 9 * 10**15, 3 * 10**15)
    assert discrepancies(payment) == [("overpaid", 3 * 10**15)]
    assert payment.status_reasons == ["overpaid"]
    assert_all_is_well()
    assert_events_tell_the_records()


def test_a_crumb_that_the_network_undoes_is_taken_back() -> None:
    payment = make_payment(ETHEREUM)
    pay(payment)
    mine_and_watch(ETHEREUM, CREDIT_BLOCKS)
    crumb = pay_units(payment, 5_000)
    mine_and_watch(ETHEREUM, CREDIT_BLOCKS)
    assert now(payment).released == payment.due + 5_000
    payment = reorganise(payment, CREDIT_BLOCKS, "dropped", only=[crumb])
    payment = confirm(payment)
    assert (payment.status, payment.released, payment.surplus) == ("completed", payment.due, 0)
    assert books(payment)["merchant:available"] == payment.due
    assert_all_is_well()


def test_a_crumb_that_waited_under_older_rules_is_kept_and_what_follows_adds_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as older:
        older.setattr("payments.deposits.facts.crumb_limit", lambda decimals: 0)
        payment = paid_over(5_000, "USDC")
        assert discrepancies(payment) == [("overpaid", 5_000)]
    pay_units(payment, 1_000)
    payment = confirm(payment)
    assert (payment.released, payment.surplus) == (payment.due, 6_000)
    assert small_remainders.book_crumbs() == 2
    assert discrepancies(payment, "accepted") == [("overpaid", 5_000), ("overpaid", 1_000)]
    assert books(payment)["merchant:available"] == payment.due + 6_000
    assert small_remainders.book_crumbs() == 0
    assert_all_is_well()


def test_late_crumbs_and_those_of_another_coin_are_the_merchants_once_nothing_is_lacking() -> None:
    payment = end_window(pay_and_confirm(make_payment(ETHEREUM)))
    pay_units(payment, 100)
    pay(payment, "0.001", coin="DAI")
    payment = confirm(payment)
    assert sorted(discrepancies(payment)) == [("late", 100), ("wrong_token", 10**15)]
    tasks.keep_surplus()
    assert discrepancies(payment) == []
    found = books(payment)
    assert (found["merchant:available"], found["ethereum DAI merchant:available"]) == (payment.due + 100, 10**15)
    assert {each.resolved_by for each in Discrepancy.objects.all()} == {"policy"}
    assert_all_is_well()


def test_a_late_crumb_never_completes_a_payment() -> None:
    payment = end_window(make_payment(ETHEREUM))
    pay_units(payment, 100)
    payment = confirm(payment)
    assert small_remainders.book_crumbs() == 0
    assert (now(payment).status, discrepancies(payment)) == ("expired", [("late", 100)])


def test_short_money_is_never_taken_as_enough_however_little_it_is() -> None:
    payment = make_payment(ETHEREUM)
    pay_units(payment, 100)
    payment = end_window(confirm(payment))
    assert small_remainders.book_crumbs() == 0
    assert (payment.status, discrepancies(payment)) == ("underpaid", [("underpaid", 100)])


def test_more_than_a_crumb_waits_whatever_it_is() -> None:
    payment = end_window(pay_and_confirm(make_payment(ETHEREUM)))
    pay(payment, "0.01")
    confirm(payment)
    assert small_remainders.book_crumbs() == 0
    assert discrepancies(payment) == [("late", 10_000)]


def test_crumbs_of_no_payment_are_the_houses() -> None:
    payment = make_payment(STELLAR)
    pay_without_memo(payment, "0.0000001")
    pay_without_memo(payment, "0.01")
    confirm(payment)
    assert small_remainders.book_crumbs() == 1
    open_ = Discrepancy.objects.get(status=DiscrepancyStatus.OPEN)
    assert open_.amount == units(payment, "0.01")
    assert books(payment)["treasury"] == 1
    assert_all_is_well()
