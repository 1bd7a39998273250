"""An operator gives money in suspense to a merchant: asked first, with a reason, by two people when it is much."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from merchants.four_eyes.models import Proposal
from merchants.models import User
from payments.checkout.payer import look_at
from payments.models import Discrepancy, Payment
from payments.transfers.models import PayoutPolicy
from payments.transfers.payouts import policy_of
from tests.factories import make_merchant, make_user
from tests.payments.scenes import (
    ETHEREUM,
    SANDBOX,
    discrepancy,
    end_window,
    make_payment,
    now,
    pay_and_confirm,
    watch,
)

pytestmark = pytest.mark.django_db

CHANGELIST = "admin:payments_discrepancy_changelist"


def operator() -> tuple[Client, User]:
    user = make_user(is_staff=True, is_superuser=True)
    client = Client()
    client.force_login(user)
    return client, user


def press(client: Client, row: Discrepancy, **answer: str) -> Any:
    chosen = {"action": "accept", "_selected_action": [str(row.pk)], **answer}
    return client.post(reverse(CHANGELIST), chosen, follow=True)


def status_of(row: Discrepancy) -> str:
    return Discrepancy.objects.get(pk=row.pk).status


@pytest.fixture
def half_paid() -> Payment:
    payment = make_payment(ETHEREUM, "USDC", "25", merchant=make_merchant("Corner Shop"))
    pay_and_confirm(payment, "12.5")
    return end_window(payment)


def test_accepting_asks_first_says_what_will_happen_and_keeps_who_and_why(half_paid: Payment) -> None:
    row, (client, user) = discrepancy(half_paid), operator()
    for answer in ({}, {"confirmed": "yes"}, {"confirmed": "yes", "note": "  "}):
        page = press(client, row, **answer).content.decode()
        assert "Corner Shop gets 12.50 USDC on ethereum, out of suspense." in page
        assert f"It came for {half_paid.public_id} over 25.00 USD" in page
        assert "The payment is then completed, although less than asked for was paid." in page
        assert status_of(row) == "open"
    assert not LogEntry.objects.exists()

    press(client, row, confirmed="yes", note="a voucher makes up for it")

    row.refresh_from_db()
    assert (row.status, row.resolved_by, row.note) == ("accepted", user.email, "a voucher makes up for it")
    (entry,) = LogEntry.objects.filter(user=user)
    assert (entry.object_id, entry.change_message) == (str(row.pk), f"Done: {Proposal.objects.get()}")


def test_above_the_policys_limit_two_different_people_accept(half_paid: Payment) -> None:
    policy_of(SANDBOX)
    PayoutPolicy.objects.filter(environment=SANDBOX).update(approval_above=12)
    row, (first, ada), (second, ben) = discrepancy(half_paid), operator(), operator()

    assert "Two different people must accept so much" in press(first, row).content.decode()
    for _ in range(2):
        press(first, row, confirmed="yes", note="I saw the voucher")
        assert status_of(row) == "open"
    assert Proposal.objects.get().proposed_by == ada
    assert f"so far: {ada.email}." in press(second, row).content.decode()
    press(second, row, confirmed="yes", note="so did I")

    row.refresh_from_db()
    assert (row.status, row.resolved_by) == ("accepted", f"{ada.email}, {ben.email}")
    assert row.note == "I saw the voucher\nso did I"
    assert list(dict.fromkeys(entry.change_message for entry in LogEntry.objects.order_by("id"))) == [
        f"Waits for another operator: {Proposal.objects.get()}",
        f"Done: {Proposal.objects.get()} so did I",
    ]


def test_at_the_policys_limit_one_person_is_enough(half_paid: Payment) -> None:
    policy_of(SANDBOX)
    PayoutPolicy.objects.filter(environment=SANDBOX).update(approval_above=13)
    client, _ = operator()
    press(client, discrepancy(half_paid), confirmed="yes", note="fine")
    assert now(half_paid).status == "completed"


def test_the_payer_is_told_how_much_was_accepted(half_paid: Payment) -> None:
    client, _ = operator()
    press(client, discrepancy(half_paid), confirmed="yes", note="fine")
    watch()
    page = Client().get(f"/pay/{half_paid.public_id}").content.decode()
    payment = now(half_paid)
    state = look_at(payment, payment.expires_at).state
    assert (state.title, state.detail) == (
        "Paid: the smaller amount was accepted",
        "Corner Shop accepted 12.50 USDC instead of 25.00 USDC. There is nothing left to pay.",
    )
    assert state.detail in page
    assert "Paid. Thank you!" not in page
