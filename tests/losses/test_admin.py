"""Deciding about missing coins in the admin: one operator proposes, another approves, and both stand in the log."""

from __future__ import annotations

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from merchants.four_eyes.models import Proposal
from merchants.models import User
from payments.treasury.losses.models import Bearer, MissingCoins
from tests.dashboard.conftest import browser_of
from tests.factories import make_member, make_user
from tests.losses.scenes import destroy, look, lose, open_missing
from tests.payments.scenes import ETHEREUM, books, make_payment, pay_and_confirm, units

pytestmark = pytest.mark.django_db
PAGE = reverse("admin:losses_missingcoins_changelist")


def operator(name: str, *permissions: str) -> tuple[Client, User]:
    user = make_user(email=f"{name}@example.com", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client, user


def act(client: Client, action: str, row: MissingCoins, **answer: str) -> str:
    chosen = {"action": action, "_selected_action": [row.pk], **answer}
    response = client.post(PAGE, chosen, follow=True)
    assert response.status_code == 200
    return response.text


def test_one_proposes_with_a_reason_another_approves_and_both_are_in_the_log() -> None:
    payment = pay_and_confirm(make_payment(ETHEREUM, amount="100"))
    destroy(payment, "30")
    look()
    missing = open_missing(payment)
    (ada, first), (grace, second) = (
        operator(name, "view_missingcoins", "change_missingcoins") for name in ("ada", "grace")
    )
    (viewer, _) = operator("viewer", "view_missingcoins")

    assert "let_house_bear" not in viewer.get(PAGE).text
    act(viewer, "let_house_bear", missing, confirmed="yes", note="No.")
    asked = act(ada, "let_house_bear", missing)
    assert "the house bears the loss?" in asked
    act(ada, "let_house_bear", missing, confirmed="yes", note="")
    assert not Proposal.objects.exists(), "not without a reason"
    act(ada, "let_house_bear", missing, confirmed="yes", note="Destroyed by the issuer.")
    assert "another operator must" in act(
        ada, "let_house_bear", missing, confirmed="yes", note="Destroyed by the issuer."
    )
    assert open_missing(payment).status == "open"
    act(grace, "let_house_bear", missing, confirmed="yes", note="The issuer says so.")

    decided = MissingCoins.objects.get()
    assert (decided.status, decided.approved_by) == ("lost", f"{first.email}, {second.email}")
    assert decided.reason == "Destroyed by the issuer.\nThe issuer says so."
    assert books(payment)["loss"] == units(payment, "30")
    log = LogEntry.objects.order_by("pk").values_list("user", "change_message")
    assert list(dict.fromkeys(log)) == [
        (first.pk, f"Waits for another operator: {Proposal.objects.get()}"),
        (second.pk, f"Done: {Proposal.objects.get()} The issuer says so."),
    ]


def test_the_merchant_reads_what_is_held_and_why_it_is_lost() -> None:
    payment = pay_and_confirm(make_payment(ETHEREUM, amount="100"))
    destroy(payment, "30")
    look()
    browser = browser_of(make_member(payment.merchant))
    page = reverse("dashboard_payment", args=[payment.public_id])
    held = "30.00 USDC that arrived are no longer on the network. 30.00 USDC of your balance is held until"
    assert held in browser.get(page).text
    lose(payment, Bearer.MERCHANT)
    assert "were lost on the network and are taken off your balance. Destroyed by the issuer." in browser.get(page).text
