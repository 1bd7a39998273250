"""An approval is of an amount to a recipient, by somebody who still is who they were."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from merchants.four_eyes.models import Proposal
from merchants.four_eyes.people import RESET_WAIT, NotEligible, note_reset
from merchants.models import User
from merchants.people.operator_rights import remove_factors
from payments.transfers.models import Payout, PayoutPolicy
from payments.transfers.payouts import approve_payout, policy_of
from payments.transfers.states import PayoutStatus
from tests.factories import make_user
from tests.people.conftest import last_mail
from tests.people.test_account import NEW, open_reset_link
from tests.people.test_account import ask as ask_for_link
from tests.transfers.scenes import (
    COIN,
    ETHEREUM,
    SANDBOX,
    ask,
    drive,
    finish,
    fresh,
    on_chain,
    somebody,
    stock,
    wait_no_longer,
)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def stopped_clock(settings: Settings) -> None:
    settings.SIMULATED_BLOCK_SECONDS = 0


@pytest.fixture
def people() -> list[User]:
    return [make_user(is_staff=True, is_superuser=True) for _ in range(2)]


@pytest.fixture
def held() -> Payout:
    policy_of(SANDBOX)
    PayoutPolicy.objects.filter(environment=SANDBOX).update(approval_above=2)
    stock(ETHEREUM, 100 * COIN)
    payout = ask(ETHEREUM, 3 * COIN)
    drive(ETHEREUM)
    return fresh(payout)


def leaves(payout: Payout) -> bool:
    wait_no_longer()
    finish(ETHEREUM)
    return fresh(payout).status == PayoutStatus.PAID


def test_two_people_let_it_leave(held: Payout, people: list[User]) -> None:
    for person in people:
        approve_payout(held, by=person)
    assert Proposal.objects.get().after == {"amount": str(3 * COIN), "recipient": held.recipient, "memo": ""}
    assert leaves(held)


def test_approvals_fall_when_the_recipient_changes(held: Payout, people: list[User]) -> None:
    for person in people:
        approve_payout(held, by=person)
    thief = somebody(ETHEREUM, "a thief")
    Payout.objects.filter(pk=held.pk).update(recipient=thief)
    assert not leaves(held)
    assert on_chain(ETHEREUM, thief) == 0
    for person in people:
        approve_payout(held, by=person)
    assert leaves(held)


def test_approvals_fall_when_the_amount_changes(held: Payout, people: list[User]) -> None:
    for person in people:
        approve_payout(held, by=person)
    Payout.objects.filter(pk=held.pk).update(amount=2 * COIN)
    assert not leaves(held)


@pytest.mark.parametrize("fall", ["not staff", "not active", "factors removed", "password reset", "password known"])
def test_an_approval_falls_with_the_one_who_gave_it(held: Payout, people: list[User], fall: str) -> None:
    for person in people:
        approve_payout(held, by=person)
    person = people[0]
    match fall:
        case "not staff":
            User.objects.filter(pk=person.pk).update(is_staff=False)
        case "not active":
            User.objects.filter(pk=person.pk).update(is_active=False)
        case "factors removed":
            remove_factors(person)
        case "password reset":
            note_reset(person, is_password_known=False)
        case "password known":
            User.objects.filter(pk=person.pk).update(is_password_known=True)
    assert not leaves(held)


def test_whoever_was_reset_counts_again_after_a_day(held: Payout, people: list[User]) -> None:
    person, other = people
    note_reset(person)
    with pytest.raises(NotEligible):
        approve_payout(held, by=person)
    ended = timezone.now() - RESET_WAIT - timedelta(seconds=1)
    User.objects.filter(pk=person.pk).update(credentials_reset_at=ended)
    for each in (person, other):
        approve_payout(held, by=each)
    assert leaves(held)


def test_one_is_enough_where_the_operator_says_so(held: Payout, people: list[User], settings: Settings) -> None:
    settings.SANDBOX_OPERATORS_TO_DECIDE = 1
    note_reset(people[0])
    approve_payout(held, by=people[0])
    assert leaves(held)


class TestProofOfAProxy:
    @pytest.fixture(autouse=True)
    def demanded(self, settings: Settings) -> None:
        settings.OPERATOR_PROOF_HEADER, settings.TRUSTED_PROXIES = "X-Operator-Proof", ["192.0.2.0/24"]

    @pytest.mark.parametrize(
        ("peer", "said", "status"),
        [
            ("192.0.2.7", "me", 200),
            ("192.0.2.7", "another@example.com", 403),
            ("192.0.2.7", None, 403),
            ("198.51.100.7", "me", 403),
        ],
        ids=["proven", "somebody else", "nobody", "not from the proxy"],
    )
    def test_the_admin_is_for_whom_the_proxy_has_proven(self, peer: str, said: str | None, status: int) -> None:
        person = make_user(is_staff=True, is_superuser=True)
        client = Client(REMOTE_ADDR=peer)
        client.force_login(person)
        headers = {} if said is None else {"X-Operator-Proof": person.email.upper() if said == "me" else said}
        assert client.get("/admin/", headers=headers).status_code == status
        assert client.get("/account", headers=headers).status_code == 200


def test_a_link_for_a_new_password_is_a_reset_and_ends_that_another_knows_it() -> None:
    person = make_user("anna@example.com", is_staff=True)
    User.objects.filter(pk=person.pk).update(is_password_known=True)
    ask_for_link(person.email)
    client, page = open_reset_link(last_mail(person.email))
    assert client.post(page, {"password": NEW}).status_code == 302
    person.refresh_from_db()
    assert (person.is_password_known, person.credentials_reset_at is not None) == (False, True)
