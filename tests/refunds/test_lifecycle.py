"""From a request to the payer's wallet: every state a refund can be in, and where its money is in each."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from django.utils import timezone

from merchants import counting
from payments.chains.errors import ChainUnavailable, RecipientProblem
from payments.chains.protocol.transfers import Identity
from payments.chains.simulated import control
from payments.chains.simulated.sending import HotWallet
from payments.chains.stellar import addresses as stellar_addresses
from payments.models import Payment
from payments.states import DiscrepancyStatus
from payments.transfers.execution import executor
from payments.transfers.models import Payout
from payments.transfers.owners import follow_payouts
from payments.transfers.payouts import fail_payout
from refunds import wording
from refunds.models import REFUNDS, Refund
from refunds.services import (
    RefundHasDestination,
    RefundNotCancellable,
    cancel_refund,
    follow_payout,
    give_destination,
    resolve_destination,
)
from refunds.states import NamedBy
from tests.payments.scenes import (
    BLOCKS_UNTIL_FINAL,
    POLYGON,
    SANDBOX,
    STELLAR,
    assert_all_is_well,
    books,
    confirm,
    discrepancies,
    discrepancy,
    end_window,
    events,
    make_payment,
    mine,
    part_of,
    pay,
    pay_and_confirm,
    units,
)
from tests.refunds.scenes import (
    PAYER,
    ask,
    fresh,
    paid,
    paid_by_two,
    refunded,
    reserved,
    resolve,
    send,
    told,
    wallet,
)
from tests.transfers.scenes import on_chain, stock

pytestmark = pytest.mark.django_db


def count(refund: Refund, *statuses: str) -> int:
    return counting.total(
        REFUNDS, merchant_id=refund.merchant_id, environment=refund.environment, statuses=list(statuses) or None
    )


# Paid.


def test_a_refund_goes_back_to_the_one_who_paid() -> None:
    payment = paid()
    due = payment.due
    refund = ask(payment)
    assert (refund.status, refund.destination, refund.payout_id, refund.version) == ("pending", "", None, 1)
    assert (refund.amount, refund.fiat_amount) == (due, 10_000)
    assert reserved(refund) == due
    assert refunded(payment) == ("completed", due, 0)
    assert_all_is_well()

    resolve()
    refund = fresh(refund)
    assert (refund.status, refund.destination, refund.named_by) == ("pending", wallet(), "sender")
    assert refund.payout is not None
    assert (refund.payout.pk, refund.payout.amount, refund.payout.reference) == (refund.pk, due, refund.public_id)

    send()
    refund = fresh(refund)
    assert refund.status == "completed"
    assert refund.completed_at == refund.ended_at is not None
    assert refund.payout is not None
    assert refund.payout.transfer is not None
    assert refund.transaction_hash == refund.payout.transfer.transaction_hash != ""
    assert on_chain(STELLAR, wallet()) == due
    assert refunded(payment) == ("refunded", due, due)
    assert reserved(refund) == 0
    assert told(refund) == ["created", "pending", "completed"]
    assert events(payment)[-1] == "payment.refunded"
    assert (count(refund), count(refund, "completed"), count(refund, "pending")) == (1, 1, 0)
    assert_all_is_well()


def test_a_refund_on_its_way_says_so_and_cannot_be_called_back() -> None:
    payment = paid(POLYGON)
    stock(POLYGON, units(payment, "200"))
    mine(POLYGON, BLOCKS_UNTIL_FINAL[POLYGON])
    refund = ask(payment, "40")
    resolve()
    executor.run_round(SANDBOX, POLYGON)
    follow_payouts()
    assert fresh(refund).status == "processing"
    follow_payouts()
    assert fresh(refund).version == 3
    with pytest.raises(RefundNotCancellable):
        cancel_refund(refund)
    assert_all_is_well()
    send(POLYGON)
    assert told(refund) == ["created", "pending", "processing", "completed"]
    assert refunded(payment) == ("partially_refunded", units(payment, "40"), units(payment, "40"))
    assert on_chain(POLYGON, wallet(POLYGON)) == units(payment, "40")
    assert_all_is_well()


def test_a_signed_refund_cannot_be_called_back_before_it_has_followed_its_payout() -> None:
    refund = ask(paid())
    resolve()
    executor.run_round(SANDBOX, STELLAR)
    assert fresh(refund).status == "pending"
    with pytest.raises(RefundNotCancellable):
        cancel_refund(refund)
    send()
    assert fresh(refund).status == "completed"


def test_a_named_destination_is_paid_without_asking_anybody_about_it() -> None:
    elsewhere = wallet(name="elsewhere")
    refund = ask(paid_by_two(), "30", destination=elsewhere, memo="  0042 ")
    assert (refund.destination, refund.memo, refund.named_by) == (elsewhere, "0042", "merchant")
    payout = Payout.objects.get()
    assert (payout.memo, payout.memo_type) == ("0042", "text"), "no number is written so: it stays as it was said"
    send()
    assert told(refund) == ["created", "completed"]
    assert on_chain(STELLAR, elsewhere) == refund.amount


def test_several_refunds_give_back_all_of_a_payment_to_the_last_unit() -> None:
    payment = paid(amount="100.01", coin="DAI", currency="EUR")
    parts = [ask(payment, amount) for amount in ("33.33", "0.01", "66.66")]
    rest = ask(payment)
    assert [part.fiat_amount for part in (*parts, rest)] == [3333, 1, 6666, 1]
    assert sum(part.amount for part in (*parts, rest)) == payment.due
    send()
    assert refunded(payment) == ("refunded", payment.due, payment.due)
    assert on_chain(STELLAR, wallet(), "DAI") == payment.due
    assert "merchant:available" not in books(payment)
    assert_all_is_well()


def test_following_twice_pays_once() -> None:
    payment = paid()
    refund = ask(payment)
    send()
    before = (refunded(payment), told(refund), books(payment))
    follow_payout(refund)
    resolve_destination(refund)
    follow_payouts()
    assert (refunded(payment), told(refund), books(payment)) == before


# Nobody can tell where it goes.


def test_money_of_two_payers_waits_for_an_address() -> None:
    payment = paid_by_two()
    refund = ask(payment)
    assert (refund.status, refund.destination) == ("requires_action", "")
    assert told(refund) == ["created", "requires_action"]
    assert reserved(refund) == payment.due
    send()
    assert fresh(refund).status == "requires_action"
    assert_all_is_well()

    refund = give_destination(refund, address=wallet(name="mine"), named_by=NamedBy.PAYER)
    assert (refund.status, refund.destination, refund.named_by) == ("pending", wallet(name="mine"), "payer")
    with pytest.raises(RefundHasDestination):
        give_destination(refund, address=wallet(name="another"), named_by=NamedBy.PAYER)
    send()
    assert told(refund) == ["created", "requires_action", "pending", "completed"]
    assert on_chain(STELLAR, wallet(name="mine")) == payment.due
    assert_all_is_well()


def test_a_contract_is_not_paid_back() -> None:
    control.describe_account(POLYGON, wallet(POLYGON), is_contract=True)
    payment = paid(POLYGON)
    refund = ask(payment)
    assert refund.status == "pending"
    resolve()
    refund = fresh(refund)
    assert (refund.status, refund.destination, refund.payout_id) == ("requires_action", "", None)
    assert told(refund) == ["created", "requires_action"]
    assert (count(refund, "pending"), count(refund, "requires_action")) == (0, 1)
    assert_all_is_well()


def test_money_that_named_its_payment_by_a_memo_goes_back_nowhere_without_the_payers_word() -> None:
    payment = paid(has_memo=True)
    refund = ask(payment)
    resolve()
    refund = fresh(refund)
    assert (refund.status, refund.destination, refund.payout_id) == ("requires_action", "", None)
    send()
    assert on_chain(STELLAR, wallet()) == 0
    give_destination(refund, address=wallet(), memo="4711", named_by=NamedBy.PAYER)
    send()
    assert (fresh(refund).status, fresh(refund).memo) == ("completed", "4711")
    assert on_chain(STELLAR, wallet()) == payment.due
    assert_all_is_well()


def test_money_of_one_person_in_a_shared_account_goes_back_to_that_person() -> None:
    control.describe_account(STELLAR, wallet(), refuses="memo_required")
    payment = make_payment(STELLAR)
    customer = stellar_addresses.mux(wallet(), 4711)
    for part in ("60", "40"):
        control.pay_together(STELLAR, [part_of(payment, part)], sender=customer)
    refund = ask(confirm(payment))
    send()
    assert (fresh(refund).status, fresh(refund).destination) == ("completed", customer)
    assert on_chain(STELLAR, wallet()) == payment.due


def test_one_part_that_came_with_a_memo_is_enough_to_ask_the_payer() -> None:
    payment = make_payment(STELLAR)
    named = replace(part_of(payment, "40"), recipient=payment.deposit_address, memo=payment.memo)
    for part in (part_of(payment, "60"), named):
        control.pay_together(STELLAR, [part], sender=wallet())
    refund = ask(confirm(payment))
    resolve()
    assert fresh(refund).status == "requires_action"


def test_a_silent_network_is_asked_again_later_and_holds_up_no_other() -> None:
    on_polygon, on_stellar = ask(paid(POLYGON)), ask(paid(STELLAR))
    control.outage(POLYGON, 60)
    resolve()
    assert (fresh(on_polygon).payout_id, fresh(on_stellar).payout_id) == (None, on_stellar.pk)
    assert fresh(on_polygon).status == "pending"
    control.outage(POLYGON, 0)
    resolve()
    assert fresh(on_polygon).payout_id == on_polygon.pk


# Called off, or refused.


@pytest.mark.parametrize("resolved", [False, True])
def test_a_cancelled_refund_leaves_everything_as_it_was(resolved: bool) -> None:
    payment = paid()
    before = books(payment)
    refund = ask(payment, "60")
    if resolved:
        resolve()
    refund = cancel_refund(refund)
    assert (refund.status, refund.completed_at) == ("cancelled", None)
    assert refund.ended_at is not None
    assert (books(payment), refunded(payment)) == (before, ("completed", 0, 0))
    assert told(refund)[-1] == "cancelled"
    version = refund.version
    assert cancel_refund(refund).version == version  # again changes nothing
    send()
    assert on_chain(STELLAR, wallet()) == 0
    assert ask(payment).amount == payment.due
    assert_all_is_well()


def test_a_refund_that_needs_an_address_can_be_cancelled() -> None:
    refund = cancel_refund(ask(paid_by_two()))
    assert told(refund) == ["created", "requires_action", "cancelled"]
    with pytest.raises(RefundHasDestination):
        give_destination(refund, address=wallet(), named_by=NamedBy.MERCHANT)
    assert_all_is_well()


def test_an_address_the_network_refuses_fails_the_refund_and_the_money_comes_back() -> None:
    payment = paid()
    before = books(payment)
    for problem in {*get_args(RecipientProblem)} - {"no_trustline"}:
        control.describe_account(STELLAR, wallet(), refuses=problem)
        refund = ask(payment, destination=wallet())
        send(rounds=0)
        refund = fresh(refund)
        assert (refund.status, refund.failure_code, refund.transaction_hash) == ("failed", problem, "")
        assert refund.failure_message
        assert (books(payment), refunded(payment)) == (before, ("completed", 0, 0))
        assert told(refund) == ["created", "failed"]
    assert_all_is_well()
    again = ask(payment, destination=wallet(name="elsewhere"))
    send()
    assert fresh(again).status == "completed"
    assert_all_is_well()


def test_a_sender_who_cannot_be_asked_about_holds_up_no_other_refund(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = ask(paid()), ask(paid())
    known = HotWallet.pay_back_address

    def differing(hot_wallet: HotWallet, identity: Identity, sender: str) -> str | None:
        if identity == first_seen:
            raise ChainUnavailable("No two providers of stellar say the same.")
        return known(hot_wallet, identity, sender)

    deposit = first.payment.deposits.get()
    first_seen = deposit.transaction_hash, deposit.ordinal
    monkeypatch.setattr(HotWallet, "pay_back_address", differing)
    resolve()
    assert (fresh(first).payout, fresh(second).destination) == (None, wallet())


def test_an_account_without_a_trustline_is_waited_for() -> None:
    payment = paid()
    control.describe_account(STELLAR, wallet(name="new"), refuses="no_trustline")
    refund = ask(payment, destination=wallet(name="new"))
    send(rounds=0)
    payout = fresh(refund).payout
    assert payout is not None
    assert (fresh(refund).status, payout.status, payout.hold_reason) == ("pending", "held", "no_trustline")
    assert wording.held(fresh(refund)) is not None
    Payout.objects.filter(pk=payout.pk).update(hold_reason="of_later")  # as a worker of a later version would
    assert wording.held(fresh(refund)) == ("of_later", "")
    control.describe_account(STELLAR, wallet(name="new"))
    Payout.objects.filter(pk=payout.pk).update(next_attempt_at=timezone.now())
    send()
    assert fresh(refund).status == "completed"
    assert_all_is_well()


def test_a_refund_whose_payout_has_failed_cannot_be_cancelled_as_well() -> None:
    payment = paid()
    refund = ask(payment)
    resolve()
    fail_payout(refund.pk, code="rejected", message="Not this one.")
    with pytest.raises(RefundNotCancellable):
        cancel_refund(refund)
    follow_payouts()
    refund = fresh(refund)
    assert (refund.status, refund.failure_code, refund.failure_message) == ("failed", "rejected", "Not this one.")
    assert refunded(payment) == ("completed", 0, 0)
    assert_all_is_well()


def test_a_transfer_that_can_never_be_mined_makes_the_refund_wait_again() -> None:
    refund = ask(paid())
    resolve()
    executor.run_round(SANDBOX, STELLAR)
    follow_payouts()
    assert fresh(refund).status == "processing"
    Payout.objects.filter(pk=refund.pk).update(status="ready", transfer=None)
    follow_payouts()
    assert fresh(refund).status == "pending"
    assert told(refund) == ["created", "pending", "processing", "pending"]


# Money in suspense.


def overpaid(extra: str = "25") -> Payment:
    payment = make_payment(STELLAR)
    pay(payment, str(100 + int(extra)))
    return confirm(payment)


def test_a_surplus_goes_back_beside_the_payment() -> None:
    payment = overpaid()
    surplus = discrepancy(payment)
    refund = ask(payment, discrepancy=surplus)
    assert (refund.amount, refund.fiat_amount) == (units(payment, "25"), 2500)
    assert refunded(payment) == ("completed", units(payment, "25"), 0)
    send()
    assert fresh(refund).status == "completed"
    assert refunded(payment) == ("completed", units(payment, "25"), 0)  # what was paid for it stays
    assert discrepancies(payment, DiscrepancyStatus.REFUNDED) == [("overpaid", units(payment, "25"))]
    assert_all_is_well()
    whole = ask(payment)
    assert whole.amount == payment.due
    send()
    assert refunded(payment) == ("refunded", units(payment, "125"), payment.due)
    assert_all_is_well()


def test_short_money_goes_back_whole_without_being_named() -> None:
    payment = make_payment(STELLAR)
    pay_and_confirm(payment, "60")
    end_window(payment)
    refund = ask(payment)
    assert (refund.discrepancy, refund.amount) == (payment.discrepancies.get(), units(payment, "60"))
    send()
    assert refunded(payment) == ("refunded", units(payment, "60"), units(payment, "60"))
    assert_all_is_well()


def test_late_money_and_another_coin_go_back_as_they_came() -> None:
    payment = make_payment(STELLAR)
    pay_and_confirm(payment, "7", coin="USDT")
    end_window(payment)
    pay_and_confirm(payment, "100")
    wrong, late = discrepancy(payment, "wrong_token"), discrepancy(payment, "late")
    assert late.deposit is not None
    refunds = [ask(payment, discrepancy=each) for each in (wrong, late)]
    assert [(refund.cryptocurrency, refund.fiat_amount) for refund in refunds] == [("USDT", None), ("USDC", 10_000)]
    send()
    assert [fresh(refund).status for refund in refunds] == ["completed", "completed"]
    assert on_chain(STELLAR, late.deposit.sender) == units(payment, "100")
    assert refunded(payment) == ("expired", 0, 0)
    assert_all_is_well()


def test_a_cancelled_refund_of_suspense_leaves_it_open_for_a_decision() -> None:
    payment = overpaid()
    refund = ask(payment, discrepancy=discrepancy(payment))
    assert discrepancies(payment) == []
    cancel_refund(refund)
    assert discrepancies(payment) == [("overpaid", units(payment, "25"))]
    assert refunded(payment) == ("completed", 0, 0)
    assert_all_is_well()
    again = ask(payment, discrepancy=discrepancy(payment))
    send()
    assert fresh(again).status == "completed"
    assert_all_is_well()


def test_a_payer_is_one_who_sent_all_of_it() -> None:
    payment = paid(received=["60", "40"], senders=[PAYER])
    ask(payment)
    resolve()
    assert Refund.objects.get().destination == wallet()
