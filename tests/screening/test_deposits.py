"""Deposits from addresses that a list names: held in suspense, and released by two."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.errors import DomainError
from merchants.four_eyes.models import ProposalStatus
from merchants.models import User
from payments.chains.protocol.oracles import Verdicts
from payments.chains.simulated import control
from payments.chains.simulated.models import SimulatedTransfer
from payments.chains.simulated.networks import address_named
from payments.chains.stellar.addresses import mux
from payments.deposits import crediting
from payments.models import Deposit, Payment
from payments.screening import oracle
from payments.screening.models import SanctionsList
from payments.services import close_payment
from payments.suspense import review
from payments.suspense.acceptance import UnderReview, accept_discrepancy, propose_acceptance
from payments.suspense.attribution import propose_attribution
from payments.suspense.refund_accounting import open_discrepancies
from payments.suspense.sender_returns import propose_return
from payments.suspense.small_remainders import book_crumbs
from payments.transfers.models import Payout
from refunds.plans.planning import NewRefund
from refunds.services import create_refund
from tests.factories import make_user
from tests.networks import ETHEREUM, STELLAR
from tests.payments.scenes import (
    BLOCKS_UNTIL_FINAL,
    assert_all_is_well,
    assess,
    books,
    confirm,
    discrepancies,
    discrepancy,
    end_window,
    events,
    make_payment,
    mine_and_watch,
    now,
    part_of,
    pay_and_confirm,
    pay_without_memo,
    read,
    watch,
)
from tests.payments.test_giving_back import come, prove
from tests.screening.scenes import put_in_force, release

pytestmark = pytest.mark.django_db


def pay_from(payment: Payment, sender: str, amount: str = "100") -> Payment:
    control.pay_together(payment.network, [part_of(payment, amount)], sender=sender)
    return confirm(payment)


def operator() -> User:
    return make_user(is_staff=True, is_superuser=True)


@pytest.mark.parametrize("network", [ETHEREUM, STELLAR])
def test_a_deposit_from_a_listed_sender_is_held_until_two_release_it(network: str, tmp_path: Path) -> None:
    sender = address_named(network, "listed")
    kept = put_in_force(tmp_path, sender)
    payment = pay_from(make_payment(network), sender)
    held, deposit = discrepancy(payment), Deposit.objects.get()
    assert (payment.status, payment.received, payment.status_reasons) == ("created", 0, ["review"])
    assert (held.kind, held.note, deposit.booked_to) == ("review", "", "suspense:review")
    assert kept.sha256 in deposit.evidence
    coins = "chain:hot" if network == STELLAR else "chain:deposit"
    assert books(payment) == {coins: payment.due, "suspense:review": payment.due}
    assert events(payment)[-1] == "payment.updated"
    assert_all_is_well()

    before = books(payment)
    with pytest.raises(UnderReview):
        propose_acceptance(held, reason="please", by=operator())
    with pytest.raises(UnderReview):
        accept_discrepancy(held, resolved_by="merchant")
    with pytest.raises(UnderReview):
        create_refund(payment=payment, request=NewRefund(discrepancy=held, destination=sender), requested_by="m")
    assert (open_discrepancies(now(payment)), books(payment)) == ([], before)

    put_in_force(tmp_path)  # named no longer: it stays held
    assert release(deposit, people=1) == ["waiting"]
    watch()
    assert discrepancies(payment) == [("review", payment.due)]
    put_in_force(tmp_path, sender)
    assert release(deposit, people=1) == ["done"]
    crediting.assess_due()
    payment = now(payment)
    assert (payment.status, payment.received, payment.status_reasons) == ("completed", payment.due, [])
    assert (discrepancies(payment), discrepancies(payment, "void")) == ([], [("review", payment.due)])
    assert books(payment) == {coins: payment.due, "merchant:available": payment.due}
    assert_all_is_well()
    with pytest.raises(DomainError, match="released already"):
        release(deposit)


def test_a_reorganisation_takes_held_money_back_and_holds_it_again(tmp_path: Path) -> None:
    sender = address_named(ETHEREUM, "listed")
    put_in_force(tmp_path, sender)
    payment = pay_from(make_payment(), sender)
    control.reorg(ETHEREUM, control.deepest_reorg(ETHEREUM), "moved")
    watch()
    confirm(payment)
    assert discrepancies(payment) == [("review", payment.due)]
    assert_all_is_well()


@pytest.mark.parametrize("outcome", ["moved", "dropped"])
def test_a_release_of_what_a_reorganisation_has_undone_credits_nothing(
    outcome: control.Outcome, tmp_path: Path
) -> None:
    sender = address_named(ETHEREUM, "listed")
    put_in_force(tmp_path, sender)
    payment = make_payment()
    control.pay_together(ETHEREUM, [part_of(payment, "100")], sender=sender)
    mine_and_watch(ETHEREUM, payment.required_confirmations)
    assert discrepancies(payment) == [("review", payment.due)]
    control.reorg(ETHEREUM, payment.required_confirmations, outcome)
    read(ETHEREUM)  # and nothing is assessed yet
    assert release(Deposit.objects.get())[-1] == "done"
    crediting.assess_due()
    assert (now(payment).received, discrepancies(payment), books(payment)) == (0, [], {})
    mine_and_watch(ETHEREUM, BLOCKS_UNTIL_FINAL[ETHEREUM])
    assert now(payment).received == (payment.due if outcome == "moved" else 0)
    assert_all_is_well()


def test_a_sender_that_changes_with_the_block_is_compared_anew(tmp_path: Path) -> None:
    before, after = address_named(ETHEREUM, "before"), address_named(ETHEREUM, "after")
    payment = make_payment()
    control.fund(ETHEREUM, address=after, code="USDC", amount=payment.due)
    control.mine(ETHEREUM)
    control.pay_together(ETHEREUM, [part_of(payment, "100")], sender=before)
    mine_and_watch(ETHEREUM)
    put_in_force(tmp_path, before)
    assert review.compare_due() == 1
    put_in_force(tmp_path, after)
    SimulatedTransfer.objects.filter(recipient=payment.deposit_address).update(source=after)
    control.reorg(ETHEREUM, 1, "moved")
    confirm(payment)
    deposit = Deposit.objects.get()
    assert (deposit.sender, deposit.booked_to) == (after, "suspense:review")
    assert deposit.evidence.startswith(after)


def test_a_muxed_sender_is_compared_as_its_account(tmp_path: Path) -> None:
    account = address_named(STELLAR, "listed")
    pay_from(make_payment(STELLAR), mux(account, 7))
    put_in_force(tmp_path, account)
    assert review.compare_due() == 1
    assert len(list(review.alarming("sandbox", STELLAR))) == 1


def test_an_address_that_an_oracle_names_during_a_comparison_is_compared_next(monkeypatch: pytest.MonkeyPatch) -> None:
    def name(who: str) -> None:
        oracle._keep(ETHEREUM, "0x1", Verdicts(1, {address_named(ETHEREUM, who): True}))

    def meanwhile(addresses: Collection[str]) -> int:
        name("listed")
        return compare(set(addresses))

    pay_from(make_payment(), address_named(ETHEREUM, "listed"))
    name("somebody else")
    SanctionsList.objects.update(imported_at=timezone.now() - timedelta(hours=1))
    compare = review._compare
    monkeypatch.setattr(review, "_compare", meanwhile)
    review.compare_due()
    monkeypatch.setattr(review, "_compare", compare)
    assert review.compare_due() == 1


def test_what_is_released_and_has_counted_raises_no_alarm_when_its_operators_leave(tmp_path: Path) -> None:
    sender = address_named(ETHEREUM, "listed")
    put_in_force(tmp_path, sender)
    payment = pay_from(make_payment(), sender)
    release(Deposit.objects.get())
    crediting.assess_due()
    User.objects.update(is_staff=False)
    assert (now(payment).status, list(review.alarming("sandbox", ETHEREUM))) == ("completed", [])


def test_money_that_counted_before_stays_and_what_is_confirmed_later_is_held(tmp_path: Path) -> None:
    sender = address_named(ETHEREUM, "listed")
    old, new = pay_from(make_payment(), sender), make_payment()
    control.pay_together(ETHEREUM, [part_of(new, "100")], sender=sender)
    put_in_force(tmp_path, sender)
    assert review.compare_due() == 1
    new = confirm(new)
    assert (now(old).status, new.status) == ("completed", "created")
    assert len(list(review.alarming("sandbox", ETHEREUM))) == 2
    assert release(Deposit.objects.get(payment=old))[-1] == "done"
    assert [each.pk for each in review.alarming("sandbox", ETHEREUM)] == [Deposit.objects.get(payment=new).pk]
    assert (now(old).status, discrepancies(new)) == ("completed", [("review", new.due)])
    assert_all_is_well()


def test_a_sender_that_changes_while_the_oracle_is_queried_is_queried_next(monkeypatch: pytest.MonkeyPatch) -> None:
    pay_from(make_payment(), address_named(ETHEREUM, "before"))
    found = Deposit.objects.all()

    def queried(chain: object, addresses: object) -> object:
        """Meanwhile a reorganisation has put another sender's transfer in its place."""
        found.update(sender=address_named(ETHEREUM, "after"), screen_at=timezone.now())
        return addresses

    monkeypatch.setattr(review, "oracle_of", lambda environment, network: "0x1")
    monkeypatch.setattr(review, "query_oracle", queried)
    found.update(screen_at=timezone.now())
    review.screen_senders("sandbox", ETHEREUM)
    assert found.get().screen_at is not None
    monkeypatch.setattr(review, "query_oracle", lambda chain, addresses: addresses)
    review.screen_senders("sandbox", ETHEREUM)
    assert found.get().screen_at is None


def test_without_a_list_nothing_more_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def queries() -> int:
        payment = make_payment()
        pay_from(payment, address_named(ETHEREUM, "somebody"))
        with CaptureQueriesContext(connection) as asked:
            assess(payment)
        return len(asked)

    with_screening = queries()
    monkeypatch.setattr("payments.deposits.facts.with_lists", lambda rows: rows)
    assert with_screening == queries()


def test_a_deposit_of_no_payment_has_its_evidence_at_once(tmp_path: Path) -> None:
    sender = address_named(STELLAR, "listed")
    put_in_force(tmp_path, sender)
    payment = make_payment(STELLAR)
    part = replace(part_of(payment, "100"), recipient=payment.deposit_address)  # without its memo
    control.pay_together(STELLAR, [part], sender=sender)
    mine_and_watch(STELLAR, BLOCKS_UNTIL_FINAL[STELLAR])
    deposit = Deposit.objects.get()
    assert (deposit.payment, deposit.booked_to) == (None, "suspense:no_memo")
    assert sender in deposit.evidence
    assert [each.pk for each in review.alarming("sandbox", STELLAR)] == [deposit.pk]

    held = deposit.discrepancies.get()
    for by in (operator(), operator()):
        propose_attribution(held, payment_id=payment.public_id, reason="Their wallet has no memo", by=by)
    assert (now(payment).status, discrepancies(payment)) == ("created", [("review", payment.due)])
    assert release(deposit)[-1] == "done"
    crediting.assess_due()
    assert now(payment).status == "completed"
    assert_all_is_well()


def test_money_of_a_listed_sender_that_counted_before_is_refunded_to_nobody_unreleased(tmp_path: Path) -> None:
    """Its payer or merchant names any address, which no list names."""
    sender, request = address_named(ETHEREUM, "listed"), NewRefund(destination=address_named(ETHEREUM, "another"))
    payment = pay_from(make_payment(), sender)
    put_in_force(tmp_path, sender)
    review.compare_due()
    with pytest.raises(UnderReview):
        create_refund(payment=payment, request=request, requested_by="m")
    assert release(Deposit.objects.get())[-1] == "done"
    assert create_refund(payment=payment, request=request, requested_by="m").amount == payment.due


def test_money_of_no_payment_goes_back_only_once_it_is_released(tmp_path: Path) -> None:
    """Its sender chooses where to: at an address that no list names."""
    deposit = come(ETHEREUM)
    returned, ada, ben = prove(deposit), operator(), operator()
    propose_return(returned, reason="No payment lacks it", by=ada)
    put_in_force(tmp_path, deposit.sender)
    with pytest.raises(UnderReview):
        propose_return(returned, reason="No payment lacks it", by=ben)
    assert not Payout.objects.exists()
    review.compare_due()
    assert release(deposit)[-1] == "done"
    assert propose_return(returned, reason="No payment lacks it", by=ben).status == ProposalStatus.DONE


def test_crumbs_of_a_listed_sender_are_not_the_houses(tmp_path: Path) -> None:
    pay_without_memo(make_payment(STELLAR), "0.001")
    mine_and_watch(STELLAR, BLOCKS_UNTIL_FINAL[STELLAR] or 1)
    put_in_force(tmp_path, Deposit.objects.get().sender)
    review.compare_due()
    assert book_crumbs() == 0


def test_what_is_held_as_its_window_ends_counts_once_it_is_released(tmp_path: Path) -> None:
    sender = address_named(ETHEREUM, "listed")
    put_in_force(tmp_path, sender)
    whole, part = pay_from(make_payment(), sender), pay_from(make_payment(), sender, "40")
    pay_and_confirm(part, "60")
    whole, part = end_window(whole), end_window(part)
    assert (whole.status, whole.status_reasons) == ("expired", ["review"])
    assert (part.status, part.status_reasons, part.closed_at) == ("underpaid", ["review", "underpaid"], None)
    assert not any(kind.exists() for kind in Payment.objects.windows_ended(part.closes_at + timedelta(days=1)))
    for payment in (whole, part):
        assert release(Deposit.objects.get(payment=payment, evidence__gt=""))[-1] == "done"
    crediting.assess_due()
    for payment in (now(whole), now(part)):
        assert (payment.status, payment.status_reasons, payment.received) == ("completed", [], payment.due)
        assert discrepancies(payment) == []
    assert books(whole)["merchant:available"] == whole.due + part.due
    assert_all_is_well()


def test_a_merchant_may_end_the_time_of_what_is_underpaid_while_the_rest_is_held(tmp_path: Path) -> None:
    sender = address_named(ETHEREUM, "listed")
    put_in_force(tmp_path, sender)
    payment = pay_from(make_payment(), sender, "40")
    payment = close_payment(pay_and_confirm(payment, "60"))
    assert {kind for kind, _ in discrepancies(payment)} == {"review", "underpaid"}
    assert release(Deposit.objects.get(payment=payment, evidence__gt=""))[-1] == "done"
    crediting.assess_due()
    assert {kind for kind, _ in discrepancies(payment)} == {"late", "underpaid"}
    assert_all_is_well()


def test_alarms_ask_once_whatever_number_of_rows_a_list_names(tmp_path: Path) -> None:
    sender = address_named(ETHEREUM, "listed")
    put_in_force(tmp_path, sender)

    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            list(review.alarming("sandbox", ETHEREUM))
        return len(asked)

    pay_from(make_payment(), sender)
    one = queries()
    for _ in range(2):
        pay_from(make_payment(), sender)
    release(Deposit.objects.first())
    assert queries() == one
    assert len(list(review.alarming("sandbox", ETHEREUM))) == 2
