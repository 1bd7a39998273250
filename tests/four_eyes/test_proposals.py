"""One operator alone lets no more money move: limits, the kill switch, breakers, and who is an operator."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from merchants.four_eyes import services
from merchants.four_eyes.models import Proposal, ProposalKind, ProposalStatus
from merchants.four_eyes.people import NotEligible
from merchants.ledger.models import Stop
from merchants.models import User
from payments.transfers.models import PayoutPolicy
from payments.transfers.payouts import policy_of
from payments.transfers.policy_changes import propose_policy, tighten
from tests.factories import make_user
from tests.stopping import stands, stop_payouts

pytestmark = pytest.mark.django_db

SANDBOX, ETHEREUM = "sandbox", "ethereum"
LIMITS = ("approval_above", "transfer_limit", "daily_limit", "merchant_daily_limit")


def superuser() -> tuple[Client, User]:
    user = make_user(is_staff=True, is_superuser=True)
    client = Client()
    client.force_login(user)
    return client, user


def change_policy(client: Client, **changes: object) -> str:
    policy = policy_of(SANDBOX)
    entered = {name: getattr(policy, name) for name in LIMITS} | changes
    form = {name: "" if value is None else value for name, value in entered.items()}
    page = reverse("admin:transfers_payoutpolicy_change", args=[policy.pk])
    reply = client.post(page, form, follow=True)
    assert reply.status_code == 200
    return reply.text


def act(client: Client, action: str, row: Proposal | Stop) -> str:
    page = reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_changelist")
    chosen = {"action": action, "_selected_action": [row.pk], "confirmed": "yes", "note": "Looked."}
    return client.post(page, chosen, follow=True).text


@pytest.mark.parametrize(
    ("before", "change"),
    [
        *[({}, {name: 10**9}) for name in LIMITS],
        *[({}, {name: None}) for name in LIMITS],
    ],
    ids=str,
)
def test_what_lets_more_leave_takes_two(before: dict[str, object], change: dict[str, object]) -> None:
    policy_of(SANDBOX)
    PayoutPolicy.objects.filter(environment=SANDBOX).update(**before)
    [(name, value)] = change.items()
    old = getattr(policy_of(SANDBOX), name)
    (first, ada), (second, bob) = superuser(), superuser()
    assert "another operator must agree" in change_policy(first, **change)
    assert getattr(policy_of(SANDBOX), name) == old
    proposal = Proposal.objects.get()
    assert "You have proposed this yourself" in act(first, "agree", proposal)
    assert getattr(policy_of(SANDBOX), name) == old
    act(second, "agree", proposal)
    assert getattr(policy_of(SANDBOX), name) == value
    proposal.refresh_from_db()
    assert (proposal.status, proposal.proposed_by, proposal.decided_by) == (ProposalStatus.DONE, ada, bob)


def test_what_lets_less_leave_holds_at_once_beside_what_is_proposed() -> None:
    client, _ = superuser()
    change_policy(client, transfer_limit=7, daily_limit=10**9)
    policy = policy_of(SANDBOX)
    assert (policy.transfer_limit, policy.daily_limit) == (7, 500_000)
    assert Proposal.objects.get().after == {"daily_limit": 10**9}


def test_a_lower_limit_holds_also_for_somebody_whose_word_does_not_count() -> None:
    client, user = superuser()
    User.objects.filter(pk=user.pk).update(is_password_known=True)
    assert "cannot propose or approve" in change_policy(client, transfer_limit=7, daily_limit=10**9)
    policy = policy_of(SANDBOX)
    assert (policy.transfer_limit, policy.daily_limit) == (7, 500_000)
    assert not Proposal.objects.exists()


def test_a_proposal_falls_when_the_policy_has_changed_since() -> None:
    (_, ada), (second, _) = superuser(), superuser()
    proposal = propose_policy(SANDBOX, {"daily_limit": 10**9}, by=ada)
    tighten(SANDBOX, {"daily_limit": 5})
    act(second, "agree", proposal)
    proposal.refresh_from_db()
    assert (proposal.status, policy_of(SANDBOX).daily_limit) == (ProposalStatus.FALLEN, 5)


def test_entering_the_same_agrees_and_entering_something_else_does_not() -> None:
    (first, _), (second, _) = superuser(), superuser()
    change_policy(first, daily_limit=600_000)
    change_policy(second, daily_limit=700_000)
    assert policy_of(SANDBOX).daily_limit == 500_000
    change_policy(first, daily_limit=700_000)
    assert policy_of(SANDBOX).daily_limit == 700_000
    assert sorted(Proposal.objects.values_list("status", flat=True)) == ["done", "withdrawn"]


def test_whoever_may_not_do_it_cannot_agree_to_it() -> None:
    (_, ada) = superuser()
    proposal = propose_policy(SANDBOX, {"daily_limit": 10**9}, by=ada)
    looker = make_user(is_staff=True)
    looker.user_permissions.set(Permission.objects.filter(codename__in=["view_proposal", "change_proposal"]))
    client = Client()
    client.force_login(looker)
    assert "cannot agree" in act(client, "agree", proposal)
    assert policy_of(SANDBOX).daily_limit == 500_000


@pytest.mark.parametrize("network", ["", ETHEREUM])
def test_a_stop_is_lifted_by_two(network: str) -> None:
    (first, ada), (second, bob) = superuser(), superuser()
    add = reverse("admin:ledger_stop_add")
    assert first.post(add, {"environment": SANDBOX, "network": network, "reason": "I11"}).status_code == 302
    stop = Stop.objects.get()
    assert (stop.kind, stop.reason) == ("breaker" if network else "switch", f"I11 ({ada})")
    for _ in range(2):
        assert "another operator must agree" in act(first, "lift", stop)
        assert stands(environment=SANDBOX, network=network)
    assert "goes on" in act(second, "lift", stop)
    assert not stands(environment=SANDBOX, network=network)
    assert Stop.objects.get().lifted_by == f"{ada.email}, {bob.email}"


def test_nothing_is_stopped_where_nothing_leaves() -> None:
    client, _ = superuser()
    for place, said in (({"network": "polygn"}, "polygn is not in use"), ({"asset": "USDC"}, "Say on which network")):
        entered = {"environment": SANDBOX, "network": "", "asset": "", "reason": "x"} | place
        assert said in client.post(reverse("admin:ledger_stop_add"), entered).text
    assert not Stop.objects.exists()


@pytest.mark.parametrize("network", ["", ETHEREUM])
def test_lifting_takes_the_right_that_its_kind_asks_for(network: str) -> None:
    stop_payouts(environment=SANDBOX, network=network, reason="I11")
    client, other = Client(), make_user(is_staff=True)
    held = "change_stop" if not network else "change_payoutpolicy"
    other.user_permissions.set(Permission.objects.filter(codename__in=["view_stop", held]))
    client.force_login(other)
    assert "You may not do this yourself" in act(client, "lift", Stop.objects.get())
    assert not Proposal.objects.exists()


def test_one_is_enough_where_the_operator_says_so(settings: Settings) -> None:
    settings.SANDBOX_OPERATORS_TO_DECIDE = 1
    stop_payouts(environment=SANDBOX, network=ETHEREUM, reason="I11")
    client, user = superuser()
    assert "another" not in change_policy(client, daily_limit=None)
    act(client, "lift", Stop.objects.get())
    assert (policy_of(SANDBOX).daily_limit, Stop.objects.get().lifted_by) == (None, user.email)


class TestOperators:
    def edit(self, client: Client, user: User, **entered: object) -> str:
        form = {"email": user.email, "name": user.name, "is_active": "on", **entered}
        return client.post(reverse("admin:merchants_user_change", args=[user.pk]), form, follow=True).text

    def test_nobody_makes_an_operator_alone(self) -> None:
        (first, _), (second, _) = superuser(), superuser()
        friend = make_user()
        assert "another superuser must agree" in self.edit(first, friend, is_staff="on", is_superuser="on")
        friend.refresh_from_db()
        assert (friend.is_staff, friend.is_superuser) == (False, False)
        act(second, "agree", Proposal.objects.get(kind=ProposalKind.OPERATOR))
        friend.refresh_from_db()
        assert (friend.is_staff, friend.is_superuser) == (True, True)

    @pytest.mark.parametrize("right", ["permission", "active"])
    def test_nor_gives_an_operator_more(self, right: str) -> None:
        client, _ = superuser()
        colleague = make_user(is_staff=True, is_active=right != "active")
        permission = Permission.objects.get(codename="change_payout")
        self.edit(
            client, colleague, is_staff="on", **({"user_permissions": [permission.pk]} if right != "active" else {})
        )
        colleague.refresh_from_db()
        assert not colleague.user_permissions.exists()
        assert colleague.is_active == (right != "active")
        assert Proposal.objects.count() == 1

    def test_taking_rights_away_takes_one(self) -> None:
        client, _ = superuser()
        colleague = make_user(is_staff=True)
        self.edit(client, colleague)
        colleague.refresh_from_db()
        assert not colleague.is_staff

    def test_nobody_takes_over_the_account_of_a_colleague(self) -> None:
        client, me = superuser()
        colleague = make_user(is_staff=True)
        entered = {"usable_password": "true", **dict.fromkeys(("password1", "password2"), "a long enough phrase")}
        page = reverse("admin:auth_user_password_change", args=[colleague.pk])
        assert client.post(page, entered).status_code == 403
        self.edit(client, colleague, is_staff="on", email=me.email.replace("@", "+other@"))
        before, colleague = colleague.email, User.objects.get(pk=colleague.pk)
        assert (colleague.email, colleague.check_password("a long enough phrase")) == (before, False)

    def test_who_has_a_password_of_anothers_choice_does_not_count_until_it_is_replaced_by_a_link(self) -> None:
        client, _ = superuser()
        entered = {"email": "new@example.com", "name": "New", "usable_password": "true"}
        entered |= dict.fromkeys(("password1", "password2"), "a long enough phrase")
        client.post(reverse("admin:merchants_user_add"), entered)
        made = User.objects.get(email="new@example.com")
        User.objects.filter(pk=made.pk).update(is_staff=True, is_superuser=True, credentials_reset_at=None)
        proposal = propose_policy(SANDBOX, {"daily_limit": 10**9}, by=superuser()[1])
        with pytest.raises(NotEligible):
            services.agree(proposal, by=User.objects.get(pk=made.pk))
        assert policy_of(SANDBOX).daily_limit == 500_000
