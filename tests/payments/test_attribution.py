"""Money for the shared account without a usable memo: suggested, attributed by two people, never guessed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from config.errors import DomainError
from merchants.four_eyes.models import Proposal, ProposalStatus
from merchants.models import User
from merchants.roles import Role
from payments.chains.simulated import control
from payments.chains.simulated.networks import address_named
from payments.models import Deposit, Discrepancy, Payment
from payments.records import record_of
from payments.suspense.attribution import propose_attribution
from payments.suspense.suggestions import similar_memos, suggested_payment, suggestions
from tests.dashboard.conftest import browser_of
from tests.factories import make_member, make_merchant, make_user
from tests.payments.scenes import (
    HELD_IN,
    POLYGON,
    STELLAR,
    assert_all_is_well,
    books,
    discrepancies,
    end_window,
    events,
    everything,
    make_payment,
    mine_and_watch,
    now,
    part_of,
    watch,
)

pytestmark = pytest.mark.django_db

SENDER = address_named(STELLAR, "an exchange")


def arrive(payment: Payment, amount: str = "100", *, memo: str | None = None, sender: str = SENDER) -> Discrepancy:
    """Money for the shared account whose memo, or none, names no payment."""
    part = replace(part_of(payment, amount), recipient=payment.deposit_address, memo=memo)
    named = control.pay_together(STELLAR, [part], sender=sender)
    mine_and_watch(STELLAR)
    watch()
    return Discrepancy.objects.get(deposit__transaction_hash=named)


def operators() -> tuple[User, User]:
    return make_user(is_staff=True, is_superuser=True), make_user(is_staff=True, is_superuser=True)


def attribute(discrepancy: Discrepancy, payment: Payment, operator: User) -> bool:
    said = propose_attribution(
        discrepancy, payment_id=payment.public_id, by=operator, reason="the payer showed me the withdrawal"
    )
    return said.status == ProposalStatus.DONE


@pytest.mark.parametrize("memo", [None, "17", "order 7"])
def test_two_different_operators_give_money_to_its_payment(memo: str | None) -> None:
    payment = make_payment(STELLAR)
    waiting = arrive(payment, memo=memo)
    assert (waiting.kind, waiting.payment, books(payment)["suspense:no_memo"]) == ("no_memo", None, payment.due)
    ada, ben = operators()
    assert not attribute(waiting, payment, ada)
    assert not attribute(waiting, payment, ada)
    assert (now(payment).status, now(payment).received) == ("created", 0)
    assert attribute(waiting, payment, ben)
    payment = now(payment)
    assert (payment.status, payment.received, payment.deposit_count) == ("completed", payment.due, 1)
    assert events(payment) == ["payment.created", "payment.completed"]
    assert books(payment) == {HELD_IN[STELLAR]: payment.due, "merchant:available": payment.due}
    waiting.refresh_from_db()
    assert (waiting.status, waiting.resolved_by) == ("void", f"{ada.email}, {ben.email}")
    assert waiting.note.startswith(f"Attributed to {payment.public_id}.\nthe payer showed me")
    mine_and_watch(STELLAR, 3)
    assert now(payment).version == payment.version
    assert_all_is_well()


def test_operators_who_name_different_payments_have_not_agreed() -> None:
    payment, other = make_payment(STELLAR), make_payment(STELLAR)
    waiting = arrive(payment)
    ada, ben = operators()
    assert not attribute(waiting, payment, ada)
    assert not attribute(waiting, other, ben)
    assert (now(payment).received, now(other).received) == (0, 0)
    assert attribute(waiting, other, ada)
    assert (now(payment).status, now(other).status) == ("created", "completed")
    assert_all_is_well()


def test_money_attributed_after_the_window_is_late_and_the_merchants_to_decide() -> None:
    payment = make_payment(STELLAR)
    end_window(payment)
    waiting = arrive(payment)
    for operator in operators():
        attribute(waiting, payment, operator)
    assert (now(payment).status, discrepancies(payment)) == ("expired", [("late", payment.due)])
    assert events(payment)[-1] == "payment.late"
    assert_all_is_well()


def test_what_cannot_be_attributed_is_refused() -> None:
    payment = make_payment(STELLAR)
    waiting = arrive(payment)
    [ada, ben] = operators()
    elsewhere, younger = make_payment(POLYGON), make_payment(STELLAR)
    Deposit.objects.update(first_block_time="2020-01-01T00:00Z")
    before = everything()
    for named in ("pay_0", "nonsense", elsewhere.public_id, younger.public_id):
        with pytest.raises(DomainError):
            propose_attribution(waiting, payment_id=named, by=ada, reason="it is")
    with pytest.raises(DomainError):
        propose_attribution(waiting, payment_id=payment.public_id, by=ben, reason=" ")
    assert (everything(), Proposal.objects.count()) == (before, 0)


def test_the_suggestion_is_a_payment_that_lacked_just_this_much_and_first_one_of_a_merchant_the_sender_has_paid() -> (
    None
):
    known = make_merchant("Harbour Coffee")
    arrived = arrive(make_payment(STELLAR, amount="5", merchant=known), "5")
    for operator in operators():
        attribute(arrived, Payment.objects.get(), operator)
    right = make_payment(STELLAR, merchant=known)
    strangers = make_payment(STELLAR)
    near = make_payment(STELLAR, amount="99.99", merchant=known)
    for amount in ("94.99", "105.01"):
        make_payment(STELLAR, amount=amount, merchant=known)
    make_payment(STELLAR, "USDT", merchant=known)
    make_payment(POLYGON, merchant=known)
    waiting = arrive(right)
    found = suggestions(waiting)
    assert [(each.payment, each.is_exact, each.is_sender_known) for each in found] == [
        (right, True, True),
        (strangers, True, False),
        (near, False, True),
    ]
    assert "lacks 99.99 USDC, and could be paid until " in str(found[2])
    assert suggested_payment(found) == right
    from_elsewhere = arrive(right, sender=address_named(STELLAR, "somebody"))
    assert suggested_payment(suggestions(from_elsewhere)) is None  # two payments, and nothing tells them apart
    assert now(right).received == 0


def test_a_payment_is_suggested_for_a_day_after_its_window_and_never_one_that_came_later() -> None:
    payment = make_payment(STELLAR)
    waiting = arrive(payment)
    closes = now(payment).closes_at
    for sent, suggested in (
        (payment.created_at - timedelta(minutes=2), []),
        (closes, [True]),
        (closes + timedelta(hours=23), [False]),
        (closes + timedelta(hours=25), []),
    ):
        Deposit.objects.filter(discrepancies=waiting).update(first_block_time=sent)
        found = suggestions(Discrepancy.objects.get(pk=waiting.pk))
        assert [each.is_exact for each in found] == suggested
        assert suggested_payment(found) == (payment if suggested == [True] else None)


@pytest.mark.parametrize(
    "mistaken",
    [
        lambda memo: memo[:-1],
        lambda memo: f"{memo}0",
        lambda memo: f"9{memo}",
        lambda memo: memo[:4] + str((int(memo[4]) + 1) % 10) + memo[5:],
        lambda memo: f"order {memo}",
    ],
    ids=["one less", "one more", "one before", "another", "in a text"],
)
def test_a_memo_with_one_mistake_is_recognised_whatever_came(mistaken: Callable[[str], str]) -> None:
    payment = make_payment(STELLAR)
    make_payment(STELLAR, amount="7")
    waiting = arrive(payment, "7", memo=mistaken(payment.memo))
    found = suggestions(waiting)
    assert (found[0].payment, found[0].is_memo_similar) == (payment, True)
    assert f"its memo is {payment.memo}" in str(found[0])
    assert not any(each.is_memo_similar for each in found[1:])
    assert now(payment).received == 0


def test_neighbours_that_changed_places_are_like_and_two_mistakes_are_not() -> None:
    assert "1234567890123456" in similar_memos("1243567890123456")
    assert "1234567890123456" not in similar_memos("2143567890123456")
    assert similar_memos("") == similar_memos("17") == similar_memos("1" * 25) == set()
    assert len(similar_memos("1" * 24)) < 600


def test_operators_are_offered_the_suggestions_with_what_speaks_for_each() -> None:
    payment = make_payment(STELLAR, merchant=make_merchant("Harbour Coffee"))
    waiting = arrive(payment)
    client = Client()
    client.force_login(operators()[0])
    for row in (waiting, waiting.deposit):
        assert row is not None
        shown = client.get(reverse(f"admin:payments_{row._meta.model_name}_change", args=[row.pk])).text
        for words in ("suggested, not proven", payment.public_id, "Harbour Coffee", "lacks exactly this amount"):
            assert words in shown
    chosen = {"action": "attribute", "_selected_action": str(waiting.pk)}
    asked = client.post(reverse("admin:payments_discrepancy_changelist"), chosen).text
    assert f'<option value="{payment.public_id}">lacks exactly this amount</option>' in asked


# What a merchant sees of it.


def page(client: Client, payment: Payment) -> str:
    return client.get(f"/dashboard/payments/{payment.public_id}").content.decode()


def name(client: Client, payment: Payment, transaction_hash: str) -> Any:
    return client.post(f"/dashboard/payments/{payment.public_id}/transaction", {"hash": transaction_hash}, follow=True)


def test_the_merchant_is_told_that_money_may_be_his_and_names_the_transaction() -> None:
    merchant = make_merchant("Harbour Coffee")
    client = browser_of(make_member(merchant))
    payment = make_payment(STELLAR, merchant=merchant)
    waiting = arrive(payment)
    assert waiting.deposit is not None
    shown = page(client, payment)
    assert "100.00 USDC arrived without a memo that names a payment" in shown
    for secret in (waiting.deposit.transaction_hash, SENDER, waiting.public_id):
        assert secret not in shown  # the payer has to say which it is
    assert "No money of this on-chain transaction waits" in name(client, payment, "ab" * 32).content.decode()
    assert not payment.named_transactions.exists()
    shown = name(client, payment, waiting.deposit.transaction_hash).content.decode()
    assert "You have entered a transaction" in shown
    assert (now(payment).received, payment.named_transactions.count()) == (0, 1)  # it decides nothing
    assert str(suggestions(waiting)[0]).endswith("(lacks exactly this amount, its merchant has named this transaction)")


def test_nobody_else_is_told_anything() -> None:
    payment = make_payment(STELLAR)
    waiting = arrive(payment)
    assert waiting.deposit is not None
    other = make_merchant()
    cheaper = make_payment(STELLAR, amount="99", merchant=other)
    assert "may be for this payment" not in page(browser_of(make_member(other)), cheaper)
    looks_only = make_member(payment.merchant, role=Role.VIEWER)
    assert "Enter the transaction" not in page(browser_of(looks_only), payment)
    assert name(browser_of(looks_only), payment, waiting.deposit.transaction_hash).status_code == 403
    assert name(browser_of(make_member(other)), payment, waiting.deposit.transaction_hash).status_code == 404
    make_payment(STELLAR, merchant=other)  # now two lack as much: neither is named
    assert "may be for this payment" not in page(browser_of(make_member(payment.merchant)), payment)


# What operators see of it.


def press(client: Client, row: Discrepancy, **answer: str) -> str:
    chosen = {"action": "attribute", "_selected_action": [str(row.pk)], **answer}
    content: bytes = client.post(reverse("admin:payments_discrepancy_changelist"), chosen, follow=True).content
    return content.decode()


def test_operators_are_shown_the_suggestion_and_asked_for_payment_and_reason() -> None:
    payment = make_payment(STELLAR, merchant=make_merchant("Corner Shop"))
    waiting = arrive(payment, memo="17")
    for operator in operators():
        client = Client()
        client.force_login(operator)
        asked = press(client, waiting)
        assert f"with the memo 17, from {SENDER}" in asked
        assert f"Suggested, not proven: {payment.public_id} of Corner Shop (lacks exactly this amount)." in asked
        press(client, waiting, confirmed="yes", answer=payment.public_id)
        assert not LogEntry.objects.filter(user=operator).exists()
        press(client, waiting, confirmed="yes", answer=payment.public_id, note="seen in the wallet")
        row = client.get(reverse("admin:payments_discrepancy_change", args=[waiting.pk]))
        assert f"is for {payment.public_id}. Why: seen in the wallet" in row.text
    assert [entry.change_message for entry in LogEntry.objects.order_by("id")] == [
        f"Waits for another operator: {Proposal.objects.get()}",
        f"Done: {Proposal.objects.get()}",
    ]
    assert now(payment).status == "completed"


def test_a_memo_that_disagrees_with_the_muxed_id_is_kept_and_listed() -> None:
    payment, other = make_payment(STELLAR), make_payment(STELLAR)
    control.pay_together(STELLAR, [replace(part_of(payment, "100"), memo=other.memo)])
    mine_and_watch(STELLAR)
    [deposit] = Deposit.objects.all()
    assert (deposit.payment, deposit.memo, deposit.conflicting_memo) == (payment, payment.memo, other.memo)
    assert (now(payment).status, now(other).status) == ("completed", "created")
    client = Client()
    client.force_login(operators()[0])
    listed = client.get(reverse("admin:payments_deposit_changelist") + "?memo_conflict=yes").content.decode()
    assert deposit.transaction_hash in listed

    [shown] = record_of(now(payment))["transfers"]
    assert shown["conflictingMemo"] == other.memo
    page = browser_of(make_member(payment.merchant)).get(f"/dashboard/payments/{payment.public_id}").text
    assert f"Its memo was {other.memo}, but it was sent to the muxed address of this payment" in page
