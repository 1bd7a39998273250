"""The house's own money in the admin: seen, asked for by one, agreed to by another."""

from __future__ import annotations

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.test import Client, RequestFactory
from django.urls import reverse

from merchants.four_eyes.models import Proposal
from merchants.models import User
from payments.treasury.house.models import AllowedAddress, Withdrawal
from tests.factories import make_user
from tests.house.scenes import COIN, People, its_address, withdraw
from tests.transfers.scenes import ETHEREUM, SANDBOX, STELLAR, ask, somebody, stock

pytestmark = pytest.mark.django_db

WITHDRAWALS, LIST, PROPOSALS = (
    reverse(f"admin:{name}_changelist") for name in ("house_withdrawal", "house_allowedaddress", "four_eyes_proposal")
)
WITHDRAW, ADD_ADDRESS = reverse("admin:house_withdrawal_add"), reverse("admin:house_allowedaddress_add")


def browser(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def act(client: Client, page: str, action: str, key: object) -> str:
    return client.post(
        page, {"action": action, "_selected_action": [key], "confirmed": "yes", "note": "By phone"}, follow=True
    ).text


def test_from_the_address_to_the_reserved_coins(people: People) -> None:
    stock(ETHEREUM, 50 * COIN)
    ada, bob = (browser(person) for person in people)
    asked = {"environment": SANDBOX, "network": ETHEREUM, "address": somebody(ETHEREUM), "label": "The bank"}
    assert "another operator must agree" in ada.post(ADD_ADDRESS, asked, follow=True).text
    assert "is in the list already" in bob.post(ADD_ADDRESS, asked).text
    listed = AllowedAddress.objects.get()
    assert "You have proposed this yourself" in act(ada, PROPOSALS, "agree", Proposal.objects.get().pk)
    act(bob, PROPOSALS, "agree", Proposal.objects.get().pk)
    assert "yes: ada@example.com, bob@example.com" in ada.get(LIST).text

    assert "50.00 USDC" in ada.get(WITHDRAW).text
    form = {"address": listed.pk, "coin": "USDC", "amount": "20.5", "reason": "rent"}
    assert "The house has 50.00 USDC of its own" in ada.post(WITHDRAW, {**form, "amount": "51"}).text
    assert "digits after the point" in ada.post(WITHDRAW, {**form, "amount": "0.0000001"}).text
    assert "another operator must agree" in ada.post(WITHDRAW, form, follow=True).text
    assert "Withdraw 20.50 USDC" in bob.get(WITHDRAWALS).text, "what waits is shown beside what the house has"
    proposal = Proposal.objects.latest("pk")
    act(ada, PROPOSALS, "agree", proposal.pk)
    assert not Withdrawal.objects.exists()
    act(bob, PROPOSALS, "agree", proposal.pk)
    withdrawal = Withdrawal.objects.get()
    page = bob.get(WITHDRAWALS).text
    assert "29.50 USDC" in page
    assert withdrawal.public_id in page
    assert "rent" in bob.get(reverse("admin:house_withdrawal_change", args=[withdrawal.pk])).text
    act(bob, WITHDRAWALS, "cancel", withdrawal.pk)
    withdrawal.refresh_from_db()
    assert withdrawal.status == "failed"


def test_what_waits_for_another_is_proposed_again_and_removed_by_one(people: People) -> None:
    address = its_address(people)
    ada, bob = (browser(person) for person in people)
    assert "is removed" in act(ada, LIST, "remove", address.pk)
    assert "was removed from the list" in act(bob, LIST, "allow", address.pk)
    asked = {"environment": SANDBOX, "network": ETHEREUM, "address": address.address, "label": "Again"}
    ada.post(ADD_ADDRESS, asked)
    again = AllowedAddress.objects.latest("pk")
    assert "Done: " in act(bob, LIST, "allow", again.pk)
    again.refresh_from_db()
    assert again.is_allowed


def test_every_row_that_an_operator_opens_is_shown(people: People) -> None:
    stock(ETHEREUM, 5 * COIN)
    withdraw(its_address(people), 2, people)
    client, opened, request = browser(people[0]), [], RequestFactory().get("/")
    request.user = people[0]
    for model, page_of_model in admin.site._registry.items():
        newest = page_of_model.get_queryset(request).order_by("pk").last()
        if newest is not None:
            page = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_change", args=[newest.pk])
            assert client.get(page).status_code == 200, page
            opened.append(model)
    assert {AllowedAddress, Proposal, Withdrawal} <= set(opened)


@pytest.mark.parametrize(("network", "memo"), [(ETHEREUM, "5"), (STELLAR, "m" * 29)])
def test_a_memo_that_cannot_be_is_refused_where_it_was_written(network: str, memo: str, people: People) -> None:
    asked = {"environment": SANDBOX, "network": network, "address": somebody(network), "memo": memo, "label": "Bank"}
    reply = browser(people[0]).post(ADD_ADDRESS, asked)
    assert reply.context["form"].errors["memo"]
    assert not AllowedAddress.objects.exists()


def test_whoever_may_only_look_changes_nothing(people: People) -> None:
    stock(ETHEREUM, 5 * COIN)
    address = its_address(people)
    withdrawal = withdraw(address, 2, people)
    viewer = make_user(is_staff=True)
    viewer.user_permissions.set(Permission.objects.filter(codename__in=["view_withdrawal", "view_allowedaddress"]))
    client = browser(viewer)
    assert "3.00 USDC" in client.get(WITHDRAWALS).text
    for page in (WITHDRAW, ADD_ADDRESS):
        assert client.get(page).status_code == client.post(page, {}).status_code == 403
    act(client, WITHDRAWALS, "cancel", withdrawal.pk)
    act(client, LIST, "remove", address.pk)
    withdrawal.refresh_from_db()
    address.refresh_from_db()
    assert (withdrawal.status, address.is_allowed) == ("pending", True)
    assert browser(make_user()).get(WITHDRAWALS).status_code == 302


def test_coins_that_belong_to_somebody_are_told_apart(people: People) -> None:
    stock(ETHEREUM, 5 * COIN)
    ask(ETHEREUM, 2 * COIN)
    page = browser(people[0]).get(WITHDRAWALS).text
    for shown in ("3.00 USDC", "5.00 USDC", "2.00 USDC", "Coins the operator put in"):
        assert shown in page
