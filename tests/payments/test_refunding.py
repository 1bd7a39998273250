"""What refunds take from a payment, what they give back to it, and what the payment says of that."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from django.db import IntegrityError, transaction

from merchants import counting
from merchants.ledger.posting import InsufficientFunds
from payments import refunding
from payments.chains.simulated import control
from payments.chains.simulated.networks import address_named
from payments.models import PAYMENTS, BalanceChange, Discrepancy, Payment
from payments.refunding import InsufficientBalance, RefundExceedsPayment
from payments.services import DiscrepancyResolved, accept_discrepancy, cancel_payment
from payments.states import DiscrepancyStatus
from tests.factories import make_merchant
from tests.payments import scenes
from tests.payments.refunds import (
    Reserved,
    complete,
    fill_hot_wallet,
    give_back,
    refund_all,
    reserve,
    reserve_all,
)
from tests.payments.scenes import (
    ETHEREUM,
    POLYGON,
    SANDBOX,
    STELLAR,
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
    part_of,
    pay,
    pay_and_confirm,
    reorganise,
    units,
    watch,
)
from webhooks.models import Event

pytestmark = pytest.mark.django_db

REFUNDS_ASIDE = ("I11", "I12w", "I13", "R1")
"""There are no rows of refunds here, and nothing leaves the chain: those have tests of their own."""


def assert_all_is_well() -> None:
    scenes.assert_all_is_well(without=REFUNDS_ASIDE)


def books(payment: Payment) -> dict[str, int]:
    """As in scenes, without the operator's coins, which completed refunds are paid from."""
    own = {"treasury", f"{payment.network} {payment.cryptocurrency} treasury"}
    return {name: held for name, held in scenes.books(payment).items() if name.split()[-1] not in own | {"chain:hot"}}


def balance_changes(payment: Payment) -> list[tuple[str, int]]:
    rows = BalanceChange.objects.filter(payment=payment).order_by("id")
    return [(row.kind, row.amount) for row in rows]


def completed(amount: str = "", **fields: object) -> Payment:
    """A payment of 100 on ethereum whose money is final."""
    return pay_and_confirm(make_payment(ETHEREUM, **fields), amount)  # type: ignore[arg-type]


# The payment's own money.


def test_all_of_a_completed_payment_can_be_refunded() -> None:
    payment = completed()
    assert refunding.refundable(payment) == payment.due
    refund = reserve(payment, payment.due)
    payment = now(payment)
    assert (payment.status, payment.refunded, payment.returned, payment.version) == ("completed", payment.due, 0, 2)
    assert refunding.refundable(payment) == 0
    assert books(payment) == {"chain:deposit": payment.due, "payout": payment.due}
    assert balance_changes(payment) == [("payment", payment.due), ("refund", -payment.due)]
    assert_all_is_well()

    fill_hot_wallet(ETHEREUM, "USDC")
    completed_at = payment.completed_at
    payment = complete(refund)
    assert (payment.status, payment.returned, payment.version) == ("refunded", payment.due, 3)
    assert payment.completed_at == completed_at
    assert events(payment) == ["payment.created", "payment.completed", "payment.refunded"]
    assert books(payment) == {"chain:deposit": payment.due}
    assert_all_is_well()


def test_the_event_carries_the_payment_as_it_is_now() -> None:
    payment = completed()
    fill_hot_wallet(ETHEREUM, "USDC")
    payment = complete(reserve(payment, units(payment, "40")))
    told = Event.objects.about(payment.pk).order_by("id").last()
    assert told is not None
    assert (told.type, told.version) == ("payment.refunded", 3)
    assert (told.payload["status"], told.payload["amountRefunded"], told.payload["version"]) == (
        "partially_refunded",
        "40.000000",
        3,
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
    assert now(payment).version == 5
    with pytest.raises(RefundExceedsPayment):
        reserve(now(payment), 1)


def test_the_status_follows_what_has_arrived_not_what_is_reserved() -> None:
    payment = completed()
    fill_hot_wallet(ETHEREUM, "USDC")
    first, second = reserve(payment, units(payment, "60")), reserve(now(payment), units(payment, "40"))
    assert now(payment).status == "completed"
    assert complete(second).status == "partially_refunded"
    assert give_back(first).status == "partially_refunded"
    assert refunding.refundable(now(payment)) == units(payment, "60")
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
    assert now(payment).__dict__ | {"_state": None} == before
    assert events(payment) == ["payment.created", "payment.completed"]
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
    assert refunding.refundable(payment) == units(payment, "0.5")
    assert_all_is_well()


def test_judging_a_refunded_payment_again_changes_nothing() -> None:
    payment = completed()
    fill_hot_wallet(ETHEREUM, "USDC")
    for part in ("30", "70"):
        payment = complete(reserve(now(payment), units(payment, part)))
        before = everything()
        scenes.judge(payment)
        scenes.judge(payment)
        end_window(payment)
        after = everything()
        assert after[2:] == before[2:]
        assert now(payment).status == payment.status


def test_the_counters_follow() -> None:
    payment = completed()
    fill_hot_wallet(ETHEREUM, "USDC")
    refund_all(payment)

    def count(status: str) -> int:
        return counting.total(PAYMENTS, merchant_id=payment.merchant_id, environment=SANDBOX, statuses=[status])

    assert (count("completed"), count("refunded")) == (0, 1)


# Money in suspense.


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
    assert refunding.open_discrepancies(payment) == [waiting]
    refund = reserve_all(waiting)
    payment = now(payment)
    assert (payment.refunded, payment.returned) == (units(payment, refunded), 0)
    resolved = Discrepancy.objects.get(pk=waiting.pk)
    assert (resolved.status, resolved.resolved_by) == (DiscrepancyStatus.REFUNDED, refund.public_id)
    assert resolved.resolved_at is not None
    assert refunding.open_discrepancies(payment) == []
    assert [kind for kind, _ in balance_changes(payment)] == (["payment"] if reach is too_much else [])
    assert_all_is_well()

    # It fails, and can be tried again or accepted.
    before = events(payment)
    payment = give_back(refund)
    assert payment.refunded == 0
    assert discrepancies(payment) == [(waiting.kind, waiting.amount)]
    reopened = Discrepancy.objects.get(pk=waiting.pk)
    assert (reopened.resolved_by, reopened.resolved_at) == ("", None)
    assert events(payment) == before
    assert_all_is_well()

    fill_hot_wallet(waiting.network, waiting.asset)
    payment = complete(reserve_all(reopened))
    assert (payment.status, payment.returned) == (status, units(payment, returned))
    assert events(payment) == [*before, "payment.refunded"]
    assert payment.completed_at is None or reach is too_much
    assert_all_is_well()


def test_a_surplus_that_went_back_leaves_the_price_to_be_refunded() -> None:
    payment = too_much()
    fill_hot_wallet(ETHEREUM, "USDC")
    payment = complete(reserve_all(discrepancy(payment)))
    assert refunding.refundable(payment) == payment.due
    payment = refund_all(payment)
    assert (payment.status, payment.refunded, payment.returned) == ("refunded", units(payment, "130"), payment.due)
    assert books(payment) == {"chain:deposit": units(payment, "130")}
    assert_all_is_well()


def test_the_price_goes_back_and_the_surplus_waits() -> None:
    payment = too_much()
    fill_hot_wallet(ETHEREUM, "USDC")
    payment = refund_all(payment)
    assert (payment.status, payment.returned) == ("refunded", payment.due)
    assert refunding.open_discrepancies(payment) == [discrepancy(payment)]
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
    assert refunding.refundable(now(payment)) == payment.due


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


# Who paid.


def test_one_sender_is_known_and_several_are_not() -> None:
    payment = make_payment(ETHEREUM)
    assert refunding.sender_of(payment, None) is None
    first = control.pay_together(ETHEREUM, [part_of(payment, "40")], sender=address_named(ETHEREUM, "Ada"))
    scenes.confirm(payment)
    assert refunding.sender_of(payment, None) == scenes.deposit_of(first).sender
    control.pay_together(ETHEREUM, [part_of(payment, "20")], sender=address_named(ETHEREUM, "Ada"))
    scenes.confirm(payment)
    assert refunding.sender_of(payment, None) == address_named(ETHEREUM, "Ada")
    control.pay_together(ETHEREUM, [part_of(payment, "70")], sender=address_named(ETHEREUM, "Bob"))
    scenes.confirm(payment)
    assert refunding.sender_of(payment, None) is None
    assert refunding.sender_of(payment, discrepancy(payment)) is None  # nobody knows whose money the surplus was


def test_money_that_never_counted_came_from_whom_its_transfer_says() -> None:
    payment = completed()
    ada = address_named(ETHEREUM, "Ada")
    control.pay_together(ETHEREUM, [part_of(payment, "5", coin="DAI")], sender=ada)
    scenes.confirm(payment)
    assert refunding.sender_of(payment, discrepancy(payment)) == ada
    assert refunding.sender_of(payment, None) != ada


# What a reorganisation undoes after it was refunded.


def unfinal(amount: str = "") -> tuple[Payment, str]:
    """A payment whose money is credited and not final."""
    mine(ETHEREUM, 7)
    payment = make_payment(ETHEREUM)
    transaction_hash = pay(payment, amount)
    mine_and_watch(ETHEREUM, 3)
    fill_hot_wallet(ETHEREUM, "USDC")
    return now(payment), transaction_hash


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
    assert refunding.refundable(payment) == 0
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
    assert refunding.refundable(payment) == 0
    assert books(payment) == {"chain:deposit": payment.due}
    assert events(payment)[2:] == ["payment.refunded", "payment.reversed", "payment.pending", "payment.refunded"]
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
    assert refunding.refundable(payment) == units(payment, "70")
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
    assert refunding.open_discrepancies(payment) == []  # it went back once already
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
    assert refunding.open_discrepancies(payment) == []  # more than that is on its way back already
    assert_only_receivables_are_missing()
    payment = give_back(refund)
    assert books(payment) == {"chain:deposit": thirty, "suspense:underpaid": thirty}
    assert refunding.open_discrepancies(payment) == [discrepancy(payment)]
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
    assert payment.version == 4
    assert_only_receivables_are_missing()


def assert_only_receivables_are_missing() -> None:
    """All is well but for what merchants owe, which I14 warns of."""
    found = scenes.findings(without=REFUNDS_ASIDE)
    assert set(found) <= {"I14"}, found
    assert all(finding.severity == "warning" for finding in found.get("I14", []))


# The rows that settlements are made of.


def test_a_change_says_for_whom_for_what_and_from_which_posting() -> None:
    payment = completed()
    refund = reserve(payment, units(payment, "25"))
    paid, given = BalanceChange.objects.order_by("id")
    assert (paid.merchant_id, paid.environment, paid.payment_id) == (payment.merchant_id, SANDBOX, payment.pk)
    assert (paid.network, paid.asset, paid.decimals) == (ETHEREUM, "USDC", 6)
    assert (paid.wallet, paid.reference, paid.settlement) == (payment.merchant_wallet, payment.public_id, None)
    assert (paid.posting_kind, paid.posting_reference) == ("payment_released", f"{payment.pk}:1")
    assert (given.wallet, given.reference) == (payment.merchant_wallet, refund.public_id)
    assert (given.posting_kind, given.posting_reference) == ("refund_reserved", refund.public_id)


def test_money_in_another_coin_changes_the_balance_in_that_coin() -> None:
    payment = pay_and_confirm(make_payment(STELLAR), "70", coin="DAI")
    accept_discrepancy(discrepancy(payment), resolved_by="Ada")
    [change] = BalanceChange.objects.all()
    assert (change.kind, change.network, change.asset, change.decimals) == ("accepted", STELLAR, "DAI", 7)
    assert (change.amount, change.wallet) == (70 * 10**7, payment.merchant_wallet)


def test_what_is_owed_is_repaid_within_one_change() -> None:
    payment, transaction_hash = unfinal()
    scenes.spend(payment, "100")
    reorganise(payment, 6, "dropped", only=[transaction_hash])
    other = make_payment(ETHEREUM, merchant=payment.merchant, amount="150")
    pay(other)
    mine_and_watch(ETHEREUM, 3)
    assert balance_changes(payment)[-1] == ("reversal", -payment.due)
    assert balance_changes(other) == [("payment", other.due)]
    assert_all_is_well()


def test_a_posting_made_again_changes_nothing_twice() -> None:
    payment = completed()
    [change] = BalanceChange.objects.all()
    settlement = uuid.uuid4()
    BalanceChange.objects.update(settlement=settlement)
    Payment.objects.filter(pk=payment.pk).update(released=0, booking_count=0)  # as if it had never been judged
    scenes.judge(payment)
    assert [row.pk for row in BalanceChange.objects.all()] == [change.pk]
    assert BalanceChange.objects.get().settlement == settlement


def test_a_refusal_leaves_no_change_behind() -> None:
    payment = completed()
    scenes.spend(payment, "100")
    with transaction.atomic():
        locked = refunding.lock_payment(payment.pk)
        refund = Reserved(uuid.uuid4(), payment.pk, None, 1)
        with pytest.raises(InsufficientBalance) as refusal:
            refunding.reserve(
                payment=locked,
                discrepancy=None,
                amount=1,
                payout_id=refund.id,
                refund_public_id=refund.public_id,
            )
        assert isinstance(refusal.value.__cause__, InsufficientFunds)
    assert not BalanceChange.objects.filter(kind="refund", amount=-1).exists()
    assert now(payment).refunded == 0
    watch()
