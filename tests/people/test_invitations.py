"""Invitations: by whom, as what, and that a link lets in one person once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar
from urllib.parse import quote

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django.fixtures import Settings

from merchants import members
from merchants.audit.models import LoggedAction
from merchants.members import RoleNotYours
from merchants.models import Member, Merchant, User
from merchants.people import invitations
from merchants.people.models import Invitation, Mail
from merchants.roles import Role
from tests.factories import PASSWORD, make_member, make_merchant, make_user
from tests.people.conftest import is_inside, last_mail, link_in, sign_up

pytestmark = pytest.mark.django_db

EMAIL = "sam@harbour.example"


@pytest.fixture(autouse=True)
def by_invitation_only(settings: Settings) -> None:
    settings.SIGN_UP = "invitation"


@pytest.fixture
def owner() -> Member:
    return make_member(make_merchant("Harbour Coffee"))


def browser_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def invite(member: Member, role: str = Role.SUPPORT, email: str = EMAIL) -> Any:
    return browser_of(member.user).post("/dashboard/members/invite", {"email": email, "role": role})


def accept(client: Client, path: str, **fields: str) -> Any:
    return client.post(path, {"name": "Sam", "password": PASSWORD, **fields})


def test_somebody_new_gets_an_account_and_the_role_and_is_inside(owner: Member) -> None:
    assert invite(owner).status_code == 302
    mail = last_mail(EMAIL)
    assert mail.subject == "You are invited to Harbour Coffee"
    client, path = Client(), link_in(mail)
    assert client.get(path).status_code == 200
    assert accept(client, path).headers["Location"] == "/dashboard"
    member = Member.objects.get(user__email=EMAIL)
    assert (member.merchant, member.role) == (owner.merchant, Role.SUPPORT)
    assert is_inside(client)
    assert Merchant.objects.count() == 1
    assert Client().get(path).status_code == 404, "once"


def test_somebody_with_an_account_logs_in_and_joins(owner: Member) -> None:
    elsewhere = make_member(make_merchant("Elsewhere"))
    invite(owner, email=elsewhere.user.email)
    path = link_in(last_mail(elsewhere.user.email))
    stranger = Client()
    assert f"/login?next={quote(path)}" in stranger.get(path).text
    assert accept(stranger, path).status_code == 200
    assert not Member.objects.filter(merchant=owner.merchant, user=elsewhere.user).exists()
    client = browser_of(elsewhere.user)
    assert client.post(path).headers["Location"] == "/dashboard"
    assert "Harbour Coffee" in client.get("/dashboard").text
    assert {each.merchant.name for each in elsewhere.user.memberships.all()} == {"Elsewhere", "Harbour Coffee"}


def test_nobody_else_can_use_the_link(owner: Member) -> None:
    invite(owner)
    path = link_in(last_mail(EMAIL))
    eve = browser_of(make_user())
    assert eve.post(path, {"name": "Eve", "password": PASSWORD}).status_code == 200
    assert Member.objects.count() == 1
    assert not User.objects.filter(email=EMAIL).exists()


@pytest.mark.parametrize("by", [Role.OWNER, Role.ADMIN])
@pytest.mark.parametrize("role", Role)
def test_owners_are_made_by_owners_alone(by: Role, role: Role) -> None:
    status = invite(make_member(role=by), role).status_code
    is_given = by == Role.OWNER or role != Role.OWNER
    assert (status, Invitation.objects.count()) == ((302, 1) if is_given else (400, 0))


@pytest.mark.parametrize("by", [Role.DEVELOPER, Role.SUPPORT, Role.VIEWER])
def test_other_roles_invite_nobody(by: Role) -> None:
    assert invite(make_member(role=by)).status_code == 403
    assert not Invitation.objects.exists()
    assert not Mail.objects.exists()


class TestEndedLinks:
    def path(self, owner: Member) -> str:
        invite(owner)
        return link_in(last_mail(EMAIL))

    def test_withdrawn(self, owner: Member) -> None:
        path = self.path(owner)
        stranger = browser_of(make_member().user)
        named = {"invitation": str(Invitation.objects.get().pk)}
        stranger.post("/dashboard/members/withdraw", named)
        assert Invitation.objects.count() == 1
        assert browser_of(owner.user).post("/dashboard/members/withdraw", named).status_code == 302
        assert accept(Client(), path).status_code == 404
        assert not User.objects.filter(email=EMAIL).exists()

    def test_sent_again(self, owner: Member) -> None:
        path = self.path(owner)
        invite(owner, Role.VIEWER)
        assert accept(Client(), path).status_code == 404
        assert accept(Client(), link_in(last_mail(EMAIL))).status_code == 302
        assert Member.objects.get(user__email=EMAIL).role == Role.VIEWER

    def test_a_week_old(self, owner: Member, monkeypatch: pytest.MonkeyPatch) -> None:
        path = self.path(owner)
        later = timezone.now() + invitations.GOOD_FOR + timedelta(seconds=1)
        monkeypatch.setattr("django.core.signing.time.time", later.timestamp)
        assert Client().get(path).status_code == 404

    @pytest.mark.parametrize("token", ["x", "x:y:z", "WzEsIDJd:1xVB02:kS72IuwK0"])
    def test_made_up(self, owner: Member, token: str) -> None:
        assert accept(Client(), f"/invitation/{token}").status_code == 404


class TestSendersWhoMayNoLongerGiveTheRole:
    """Owners let owners in, owners and admins everybody else: also between the mail and the click."""

    CASES: ClassVar = [
        # sent by, as, role of the sender afterwards, still works
        (Role.OWNER, Role.OWNER, Role.ADMIN, False),
        (Role.OWNER, Role.SUPPORT, Role.ADMIN, True),
        (Role.OWNER, Role.VIEWER, Role.DEVELOPER, False),
        (Role.ADMIN, Role.ADMIN, Role.SUPPORT, False),
        (Role.ADMIN, Role.ADMIN, Role.OWNER, True),
    ]

    @pytest.mark.parametrize(("sender", "role", "then", "works"), CASES)
    def test_another_role_of_theirs(self, owner: Member, sender: Role, role: Role, then: Role, works: bool) -> None:
        member = make_member(owner.merchant, role=sender)
        invite(member, role)
        path = link_in(last_mail(EMAIL))
        browser = browser_of(owner.user)
        assert browser.post(f"/dashboard/members/{member.public_id}/role", {"role": then}).status_code == 302
        assert (EMAIL in browser.get("/dashboard/members").text) == works
        row = LoggedAction.objects.get(action="member.change_role")
        assert row.after.get("withdrawn_invitations", []) == ([] if works else [EMAIL])
        assert accept(Client(), path).status_code == (302 if works else 404)
        assert User.objects.filter(email=EMAIL).exists() == works

    def test_handing_over_and_leaving_name_what_fell(self, owner: Member) -> None:
        heir = make_member(owner.merchant, role=Role.ADMIN)
        browser = browser_of(owner.user)
        invite(owner, Role.OWNER)
        browser.post(f"/dashboard/members/{heir.public_id}/hand-over", {"become": Role.ADMIN})
        invite(owner, Role.VIEWER, email="other@harbour.example")
        browser.post("/dashboard/members/leave")
        rows = LoggedAction.objects.filter(action__in=("member.hand_over", "member.leave")).order_by("id")
        fallen = [row.after["withdrawn_invitations"] for row in rows]
        assert (fallen, Invitation.objects.count()) == ([[EMAIL], ["other@harbour.example"]], 0)

    @pytest.mark.parametrize("change", ["role", "removed", "deactivated"])
    def test_a_change_past_the_pages_counts_when_it_is_accepted(self, owner: Member, change: str) -> None:
        sender = make_member(owner.merchant)
        invite(sender, Role.OWNER)
        path = link_in(last_mail(EMAIL))
        invitation = Invitation.objects.select_related("merchant").get()
        person = make_user(email=EMAIL)
        match change:
            case "role":
                Member.objects.filter(pk=sender.pk).update(role=Role.ADMIN)
            case "removed":
                members.remove_member(member=sender)
            case "deactivated":
                User.objects.filter(pk=sender.user_id).update(is_active=False)
        assert browser_of(person).get(path).status_code == 404
        assert EMAIL not in browser_of(owner.user).get("/dashboard/members").text
        with pytest.raises(invitations.InvitationGone):  # a page that was opened before
            invitations.accept(invitation=invitation, user=person)
        assert not Member.objects.filter(user=person).exists()

    def test_who_is_demoted_while_sending_sends_nothing(self, owner: Member) -> None:
        sender = make_member(owner.merchant)
        Member.objects.filter(pk=sender.pk).update(role=Role.ADMIN)
        with pytest.raises(RoleNotYours):
            invitations.invite_member(by=sender, email=EMAIL, role=Role.OWNER)
        assert not Mail.objects.exists()

    def test_joining_and_changing_roles_wait_for_each_other(self, owner: Member) -> None:
        invite(owner)
        invitation = Invitation.objects.get()
        with CaptureQueriesContext(connection) as captured:
            invitations.accept(invitation=invitation, user=make_user(email=EMAIL))
        locks = [query["sql"] for query in captured if "FOR UPDATE" in query["sql"]]
        tables = [sql.split(" FROM ")[1].split()[0] for sql in locks]
        assert tables == ['"merchants_merchant"', '"people_invitation"']


def test_a_member_is_not_invited_again(owner: Member) -> None:
    reply = invite(owner, email=owner.user.email.upper())
    assert (reply.status_code, "already a member" in reply.text) == (400, True)


def test_a_squatted_address_goes_to_whoever_was_invited(owner: Member, settings: Settings) -> None:
    settings.SIGN_UP = "open"
    sign_up(Client(), email=EMAIL, password="the phrase of a squatter")
    invite(owner)
    assert accept(Client(), link_in(last_mail(EMAIL))).headers["Location"] == "/dashboard"
    assert User.objects.get(email=EMAIL).check_password(PASSWORD)


def test_an_operator_invites_somebody_to_a_merchant_of_their_own() -> None:
    operator = browser_of(make_user(is_staff=True, is_superuser=True))
    assert operator.post("/admin/people/invitation/add/", {"email": EMAIL}).status_code == 302
    client, path = Client(), link_in(last_mail(EMAIL))
    assert accept(client, path).status_code == 400, "the business needs a name"
    assert accept(client, path, merchant_name="Northlight Books").headers["Location"] == "/dashboard"
    assert Member.objects.get(user__email=EMAIL).role == Role.OWNER
    assert Merchant.objects.get().name == "Northlight Books"
