"""One operator alone gets nobody into a merchant whose money could be taken."""

from __future__ import annotations

from datetime import timedelta

import pytest
from allauth.mfa.models import Authenticator
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import Settings

from merchants.audit.models import LoggedAction
from merchants.four_eyes.models import Proposal, ProposalStatus
from merchants.four_eyes.people import RESET_WAIT, NotEligible
from merchants.models import ApiKey, Member, Merchant, User
from merchants.people.models import Mail
from merchants.people.operator_rights import propose_rights
from merchants.roles import SENSITIVE, Action, Role
from payments.monitoring.alarm_rules import of_installation
from payments.monitoring.states import AlarmKind
from payments.monitoring.tasks import raise_alarms
from tests.agreeing import agree_to_what_waits
from tests.factories import PASSWORD, make_member, make_merchant, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def two(settings: Settings) -> None:
    settings.OPERATORS_TO_DECIDE = 2
    settings.SANDBOX_WALLET_CHANGE_WAIT_HOURS = 24


def superuser() -> tuple[Client, User]:
    user, client = make_user(is_staff=True, is_superuser=True), Client()
    client.force_login(user)
    return client, user


def add(client: Client, merchant: Merchant, user: User, role: Role) -> str:
    form = {"name": merchant.name, "plan": merchant.plan, "members-0-user": user.pk, "members-0-role": role}
    form |= {"members-TOTAL_FORMS": 1, "members-INITIAL_FORMS": 0}
    form |= {"settings-TOTAL_FORMS": 0, "settings-INITIAL_FORMS": 0}
    return client.post(reverse("admin:merchants_merchant_change", args=[merchant.pk]), form, follow=True).text


@pytest.mark.parametrize("role", list(Role))
def test_adding_a_member_takes_two_and_is_told(role: Role) -> None:
    owner, taker = make_member(), make_user()
    (first, ada), (second, bob) = superuser(), superuser()
    for _ in range(2):
        assert "another operator must agree" in add(first, owner.merchant, taker, role)
        assert not Member.objects.filter(user=taker).exists()
    add(second, owner.merchant, taker, role)
    assert Member.objects.get(user=taker).role == role
    assert Proposal.objects.filter(status=ProposalStatus.DONE).count() == 1
    [row] = LoggedAction.objects.filter(merchant=owner.merchant)
    assert (row.action, row.person, row.role) == (Action.ADDED_BY_OPERATORS.value, bob, "operator")
    assert row.after == {"person": taker.email, "role": role, "operators": f"{ada.email}, {bob.email}"}
    told = {owner.user.email, taker.email} if role == Role.OWNER else {owner.user.email}
    assert set(Mail.objects.values_list("to", flat=True)) == told


def test_who_was_let_in_waits_a_day_before_anything_sensitive(settings: Settings) -> None:
    owner, taker = make_member(), make_user()
    for client in (superuser()[0], superuser()[0]):
        add(client, owner.merchant, taker, Role.OWNER)
    inside = Client()
    inside.force_login(taker)
    form = {"name": "Web", "access": "custom", "scopes": ["payments:write"]}
    for path in ("keys/new", "members/invite", "wallets/set", "refunds/file/x", "payments/x/refund"):
        reply = inside.post(f"/dashboard/{path}", form)
        assert (reply.status_code, reply.headers["Location"]) == (302, "/dashboard"), path
    assert not ApiKey.objects.exists()
    assert {Action.REQUEST_REFUND, Action.MAKE_KEY, Action.SET_WALLET, Action.INVITE_MEMBER} <= SENSITIVE
    User.objects.filter(pk=taker.pk).update(let_in_by_operators_at=timezone.now() - timedelta(hours=24))
    assert inside.post("/dashboard/payments/x/refund", form).status_code == 404


def test_the_first_member_of_a_new_merchant_waits_for_nothing() -> None:
    merchant, (first, _), (second, _) = make_merchant(), superuser(), superuser()
    for taker, waits in ((make_user(), False), (make_user(), True)):
        add(first, merchant, taker, Role.OWNER)
        add(second, merchant, taker, Role.OWNER)
        taker.refresh_from_db()
        assert (taker.let_in_by_operators_at is not None) is waits


def test_no_operator_has_the_account_of_a_member() -> None:
    member, (client, me) = make_member(role=Role.SUPPORT), superuser()
    page = reverse("admin:auth_user_password_change", args=[member.user_id])
    entered = {"usable_password": "true", **dict.fromkeys(("password1", "password2"), "a long enough phrase")}
    assert client.post(page, entered).status_code == 403
    form = {"email": me.email.replace("@", "+other@"), "name": "Renamed", "is_active": "on"}
    client.post(reverse("admin:merchants_user_change", args=[member.user_id]), form)
    now = User.objects.get(pk=member.user_id)
    assert (now.name, now.email, now.check_password(PASSWORD)) == ("Renamed", member.user.email, True)


def test_removed_second_factors_are_told_to_every_owner() -> None:
    owner = make_member()
    member = make_member(owner.merchant, role=Role.ADMIN)
    (_, ada), (_, bob) = superuser(), superuser()
    with pytest.raises(CommandError, match="no operator"):
        call_command("remove_second_factors", member.user.email)
    call_command("remove_second_factors", member.user.email, by=ada.email)
    assert not LoggedAction.objects.exists()
    agree_to_what_waits(bob)
    assert LoggedAction.objects.get(merchant=owner.merchant).action == Action.FACTORS_REMOVED.value
    assert set(Mail.objects.values_list("to", flat=True)) == {owner.user.email}
    assert User.objects.get(pk=member.user_id).let_in_by_operators_at is not None


@pytest.mark.parametrize("role", [Role.OWNER, Role.ADMIN, Role.VIEWER])
def test_removing_an_owner_or_admin_takes_two_and_is_told(role: Role) -> None:
    owner = make_member()
    gone = make_member(owner.merchant, role=role)
    (first, ada), (second, bob) = superuser(), superuser()
    merchant = owner.merchant

    def remove(client: Client) -> None:
        form = {"name": merchant.name, "plan": merchant.plan, "members-TOTAL_FORMS": 2, "members-INITIAL_FORMS": 2}
        form |= {"settings-TOTAL_FORMS": 0, "settings-INITIAL_FORMS": 0, "members-1-DELETE": "on"}
        for place, member in enumerate((owner, gone)):
            form |= {f"members-{place}-id": member.pk, f"members-{place}-merchant": merchant.pk}
        client.post(reverse("admin:merchants_merchant_change", args=[merchant.pk]), form)

    remove(first)
    is_alone = role == Role.VIEWER
    assert Member.objects.filter(pk=gone.pk).exists() is not is_alone
    if not is_alone:
        remove(first)
        assert Member.objects.filter(pk=gone.pk).exists()
        remove(second)
    assert not Member.objects.filter(pk=gone.pk).exists()
    [row] = LoggedAction.objects.filter(merchant=merchant)
    operators = ada.email if is_alone else f"{ada.email}, {bob.email}"
    assert row.action == Action.REMOVE_MEMBER.value
    assert row.after == {"person": gone.user.email, "role": role, "operators": operators}
    assert set(Mail.objects.values_list("to", flat=True)) == {owner.user.email, gone.user.email}


def test_mails_and_pages_say_how_long_the_wait_is(settings: Settings) -> None:
    settings.WALLET_CHANGE_WAIT_HOURS = settings.SANDBOX_WALLET_CHANGE_WAIT_HOURS = 48
    owner, taker = make_member(), make_user()
    for client in (superuser()[0], superuser()[0]):
        add(client, owner.merchant, taker, Role.ADMIN)
    assert "For 48 hours" in Mail.objects.get().text
    inside = Client()
    inside.force_login(taker)
    assert "For 48 hours" in inside.post("/dashboard/keys/new", {"name": "Web"}, follow=True).text


def test_a_fee_above_the_bound_takes_two() -> None:
    merchant = make_member().merchant
    (first, _), (second, _) = superuser(), superuser()

    def ask(client: Client, fee_bps: int | None) -> int | None:
        form = {"name": merchant.name, "plan": merchant.plan, "fee": "" if fee_bps is None else fee_bps / 100}
        form |= {f"{rows}-{count}_FORMS": 0 for rows in ("members", "settings") for count in ("TOTAL", "INITIAL")}
        client.post(reverse("admin:merchants_merchant_change", args=[merchant.pk]), form, follow=True)
        merchant.refresh_from_db()
        return merchant.fee_bps

    asked: list[tuple[Client, int | None, int | None]] = [
        (first, 1_000, 1_000),
        (first, 9_999, 1_000),
        (first, 9_999, 1_000),
        (second, 9_999, 9_999),
        (first, 9_998, 9_998),
        (first, None, None),
        (first, 1_001, None),
    ]
    assert [ask(client, fee) for client, fee, _ in asked] == [stays for *_, stays in asked]
    assert Proposal.objects.filter(kind="fee", status=ProposalStatus.DONE).count() == 1
    before = Proposal.objects.count()
    assert (ask(first, 10_000), Proposal.objects.count()) == (None, before)


def test_a_plan_whose_fee_is_above_the_bound_takes_two(settings: Settings) -> None:
    settings.FEE_BPS = {"business": 2_000}
    merchant, (first, _), (second, _) = make_member().merchant, superuser(), superuser()

    def ask(client: Client, **entered: object) -> tuple[str, int | None, str]:
        form: dict[str, object] = {"name": "Shop", "plan": "business", "fee": "", **entered}
        form |= {f"{rows}-{count}_FORMS": 0 for rows in ("members", "settings") for count in ("TOTAL", "INITIAL")}
        said = client.post(reverse("admin:merchants_merchant_change", args=[merchant.pk]), form, follow=True).text
        merchant.refresh_from_db()
        return merchant.plan, merchant.fee_bps, said

    assert ask(first, fee="0.5")[:2] == ("business", 50)
    for _ in range(2):
        assert ask(first)[:2] == ("business", 50)  # without its own fee the plan's counts
    assert ask(second)[:2] == ("business", None)
    assert ask(first, plan="starter")[:2] == ("starter", None)
    assert "20.00 %" in ask(first)[2]
    assert merchant.plan == "starter"
    plan, fee, said = ask(first, plan="starter", fee="100")
    assert (plan, fee) == ("starter", None)
    assert "less than or equal to 99.99" in said


def test_where_two_operators_are_and_one_lost_the_factor_one_removes_it_aloud() -> None:
    """All operators are told, and whoever lost it has no say for a day: nobody becomes two people at once."""
    (_, ada), (_, bob) = superuser(), superuser()
    Authenticator.objects.create(user=bob, type=Authenticator.Type.TOTP, data={"secret": "x"})
    (_, carol) = superuser()
    with pytest.raises(CommandError, match="another operator who can agree"):
        call_command("remove_second_factors", bob.email, by=ada.email, alone=True)
    User.objects.filter(pk=carol.pk).update(is_superuser=False)
    with pytest.raises(CommandError, match="another operator must agree"):
        call_command("remove_second_factors", ada.email, by=ada.email, alone=True)
    assert Authenticator.objects.exists()
    call_command("remove_second_factors", bob.email, by=ada.email, alone=True)
    assert not Authenticator.objects.exists()
    told = dict(Mail.objects.values_list("to", "subject"))
    assert told == {
        bob.email: "Your second factors were removed",
        **dict.fromkeys((ada.email, carol.email), "The second factors of an operator were removed"),
    }
    raise_alarms()
    [alarm] = [each for each in of_installation() if each.kind == AlarmKind.OPERATOR_RESET]
    assert bob.email in alarm.message
    with pytest.raises(NotEligible):
        propose_rights(carol, {"is_superuser": True}, by=bob)
    User.objects.filter(pk=bob.pk).update(credentials_reset_at=timezone.now() - RESET_WAIT)
    assert [each for each in of_installation() if each.kind == AlarmKind.OPERATOR_RESET] == []
    propose_rights(carol, {"is_superuser": True}, by=bob)
