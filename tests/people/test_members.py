"""Who works for a merchant: roles, removing, leaving, handing over; and people who work for several."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, OperationalError, connection, transaction
from django.test import Client

from merchants.audit.models import LoggedAction
from merchants.members import (
    AlreadyMember,
    LastOwner,
    MemberGone,
    RoleNotYours,
    add_member,
    change_role,
    hand_over,
    remove_member,
)
from merchants.models import Member, Merchant
from merchants.people.models import Invitation, Mail
from merchants.roles import Role
from tests.factories import PASSWORD, make_member, make_merchant, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def merchant() -> Merchant:
    return make_merchant("Harbour Coffee")


def logged_in(member: Member) -> Client:
    client = Client()
    assert client.post("/login", {"email": member.user.email, "password": PASSWORD}).status_code == 302
    return client


def at(member: Member, page: str) -> str:
    return f"/dashboard/members/{member.public_id}/{page}"


def roles(merchant: Merchant) -> list[str]:
    return list(merchant.members.order_by("id").values_list("role", flat=True))


class TestRules:
    def test_somebody_is_a_member_once(self) -> None:
        member = make_member(role=Role.VIEWER)
        with pytest.raises(AlreadyMember):
            add_member(merchant=member.merchant, user=member.user, role=Role.OWNER)
        assert roles(member.merchant) == ["viewer"]

    def test_the_last_owner_stays_one(self, merchant: Merchant) -> None:
        owner, admin = make_member(merchant), make_member(merchant, role=Role.ADMIN)
        with pytest.raises(LastOwner):
            remove_member(member=owner)
        with pytest.raises(LastOwner):
            change_role(member=owner, role=Role.ADMIN, by=owner)
        hand_over(by=owner, to=admin, become=Role.VIEWER)
        assert roles(merchant) == ["viewer", "owner"]
        remove_member(member=owner, by=owner)
        assert roles(merchant) == ["owner"]

    def test_what_somebody_may_do_is_read_when_they_do_it(self, merchant: Merchant) -> None:
        owner, admin, viewer = make_member(merchant), make_member(merchant, role=Role.ADMIN), make_member(merchant)
        change_role(member=admin, role=Role.VIEWER, by=owner)
        admin.role = Role.ADMIN  # as a page has read it before
        with pytest.raises(RoleNotYours):
            change_role(member=viewer, role=Role.VIEWER, by=admin)
        remove_member(member=viewer, by=owner)
        with pytest.raises(MemberGone):
            change_role(member=viewer, role=Role.VIEWER, by=owner)
        with pytest.raises(MemberGone):
            hand_over(by=owner, to=viewer, become=Role.ADMIN)
        assert roles(merchant) == ["owner", "viewer"]

    @pytest.mark.parametrize(
        "statement",
        [
            "DELETE FROM merchants_member WHERE id = %s",
            "UPDATE merchants_member SET role = 'viewer' WHERE id = %s",
            "UPDATE merchants_member SET merchant_id = (SELECT id FROM merchants_merchant LIMIT 1) WHERE id = %s",
        ],
    )
    def test_postgresql_keeps_the_last_owner(self, statement: str) -> None:
        make_merchant("Elsewhere")  # the first one that PostgreSQL finds
        merchant = make_merchant()
        first, second = make_member(merchant), make_member(merchant)
        make_member(merchant, role=Role.ADMIN)
        with connection.cursor() as cursor:
            cursor.execute(statement, [first.pk])
            connection.check_constraints()
            cursor.execute(statement, [second.pk])
            with pytest.raises(IntegrityError, match="at least one owner"):
                connection.check_constraints()
            connection.set_rollback(True)


@pytest.mark.django_db(transaction=True)
def test_two_owners_who_remove_each_other_wait_for_each_other() -> None:
    first = make_member()
    second = make_member(first.merchant)
    check, delete = "SET CONSTRAINTS ALL IMMEDIATE", "DELETE FROM merchants_member WHERE id = %s"
    other = connection.copy()
    try:
        with transaction.atomic(), connection.cursor() as cursor, other.cursor() as elsewhere:
            cursor.execute(delete, [first.pk])
            cursor.execute(check)
            elsewhere.execute("SET lock_timeout = '50ms'")
            elsewhere.execute("BEGIN")
            elsewhere.execute(delete, [second.pk])
            with pytest.raises(OperationalError, match="lock timeout"):
                elsewhere.execute(check)
    finally:
        other.close()
    assert roles(first.merchant) == ["owner"]


class TestPages:
    @pytest.mark.parametrize("by", [Role.OWNER, Role.ADMIN])
    def test_owners_are_the_affair_of_owners(self, merchant: Merchant, by: Role) -> None:
        make_member(merchant)
        owner, viewer = make_member(merchant), make_member(merchant, role=Role.VIEWER)
        client = logged_in(make_member(merchant, role=by))
        is_owner = by == Role.OWNER
        page = client.get("/dashboard/members").text
        assert (at(owner, "remove") in page, at(viewer, "remove") in page) == (is_owner, True)
        assert (at(viewer, "hand-over") in page) == is_owner
        found = [
            client.get(at(owner, "role")).status_code,
            client.post(at(owner, "role"), {"role": "viewer"}).status_code,
            client.post(at(owner, "remove")).status_code,
            client.post(at(viewer, "role"), {"role": "owner"}).status_code,
        ]
        assert found == ([200, 302, 302, 302] if is_owner else [403, 403, 403, 400])
        assert ("viewer" in roles(merchant)) != is_owner

    def test_a_role_that_is_changed_counts_at_once_and_is_told(self, merchant: Merchant) -> None:
        owner, member = make_member(merchant), make_member(merchant, role=Role.VIEWER)
        client = logged_in(member)
        assert client.get("/dashboard/keys/new").status_code == 403
        assert logged_in(owner).post(at(member, "role"), {"role": "developer"}).status_code == 302
        assert client.get("/dashboard/keys/new").status_code == 200
        mail = Mail.objects.get()
        assert (mail.to, mail.subject) == (member.user.email, "Your role at Harbour Coffee is now Developer")
        row = LoggedAction.objects.get(action="member.change_role")
        assert (row.before, row.after) == ({"role": "viewer"}, {"role": "developer", "person": member.user.email})
        assert (row.record, row.environment) == (member.public_id, "")

    def test_who_is_removed_is_out_at_once_and_told(self, merchant: Merchant) -> None:
        owner, member = make_member(merchant), make_member(merchant, role=Role.ADMIN)
        elsewhere = add_member(merchant=make_merchant("Elsewhere"), user=member.user)
        here, there = logged_in(member), logged_in(member)
        there.post("/dashboard/merchant", {"merchant": elsewhere.merchant.public_id})
        here.post("/dashboard/members/invite", {"email": "friend@example.com", "role": "admin"})
        assert logged_in(owner).post(at(member, "remove")).status_code == 302
        assert here.get("/dashboard").headers["Location"] == "/login?next=/dashboard"
        assert "Elsewhere" in there.get("/dashboard").text
        assert not Invitation.objects.exists()
        subject = "You are no longer a member of Harbour Coffee"
        assert Mail.objects.get(to=member.user.email).subject == subject
        row = LoggedAction.objects.get(action="member.remove")
        assert row.before == {"person": member.user.email, "role": "admin"}

    def test_leaving_goes_on_elsewhere(self, merchant: Merchant) -> None:
        owner, member = make_member(merchant), make_member(merchant, role=Role.SUPPORT)
        add_member(merchant=make_merchant("Elsewhere"), user=member.user)
        client, other = logged_in(member), logged_in(member)
        assert client.post("/dashboard/members/leave").headers["Location"] == "/dashboard"
        page = client.get("/dashboard").text
        assert ("Elsewhere" in page, "You have left Harbour Coffee." in page) == (True, True)
        assert other.get("/dashboard").status_code == 302
        assert Mail.objects.get().to == owner.user.email
        assert client.post("/dashboard/members/leave").headers["Location"] == "/dashboard/members"
        assert roles(merchant) == ["owner"]
        assert LastOwner.message in client.get("/dashboard/members/leave").text

    def test_leaving_the_only_merchant_ends_on_the_account(self, merchant: Merchant) -> None:
        make_member(merchant)
        client = logged_in(make_member(merchant, role=Role.VIEWER))
        assert client.post("/dashboard/members/leave").headers["Location"] == "/account"
        assert client.get("/account").status_code == 200
        assert client.get("/dashboard").status_code == 403

    def test_who_removes_themselves_is_asked_whether_to_leave(self, merchant: Merchant) -> None:
        owner = make_member(merchant)
        make_member(merchant)
        assert logged_in(owner).post(at(owner, "remove")).headers["Location"] == "/dashboard/members/leave"
        assert roles(merchant) == ["owner", "owner"]


class TestSeveralMerchants:
    def both(self) -> tuple[Member, Member]:
        first = make_member(make_merchant("First"))
        return first, add_member(merchant=make_merchant("Second"), user=first.user, role=Role.DEVELOPER)

    def test_the_chosen_one_is_in_view_and_the_other_is_not(self) -> None:
        first, second = self.both()
        client, colleague = logged_in(first), make_member(first.merchant, role=Role.VIEWER)
        assert client.get(at(colleague, "role")).status_code == 200
        assert client.post("/dashboard/merchant", {"merchant": second.merchant.public_id}).status_code == 302
        page = client.get("/dashboard/members").text
        assert (colleague.user.email in page, "Developer" in page) == (False, True)
        assert client.get("/dashboard/members/invite").status_code == 403, "the role is the one at this merchant"
        client.post("/dashboard/merchant", {"merchant": first.merchant.public_id})
        stranger = make_member(make_merchant("Foreign"))
        for wrong in (stranger.merchant.public_id, "", "mer_1"):
            assert client.post("/dashboard/merchant", {"merchant": wrong}).status_code == 404
        assert client.get(at(stranger, "role")).status_code == 404

    def test_a_form_that_was_opened_for_the_other_one_expires(self) -> None:
        first, second = self.both()
        client = Client(enforce_csrf_checks=True)
        client.force_login(first.user)

        def sent(path: str, **fields: str) -> Any:
            return client.post(path, fields)

        def token() -> str:
            return str(client.get("/dashboard/members").context["csrf_token"])

        opened = token()
        chosen = sent("/dashboard/merchant", merchant=second.merchant.public_id, csrfmiddlewaretoken=token())
        assert chosen.status_code == 302
        sent("/dashboard/environment", environment="production", csrfmiddlewaretoken=opened)
        assert "environment" not in client.session
        assert sent("/dashboard/environment", environment="production", csrfmiddlewaretoken=token()).status_code == 302

    def test_only_people_with_several_see_the_switch(self) -> None:
        first, _second = self.both()
        assert "/dashboard/merchant" in logged_in(first).get("/dashboard/members").text
        lonely = make_user()
        add_member(merchant=first.merchant, user=lonely)
        client = Client()
        client.force_login(lonely)
        assert "/dashboard/merchant" not in client.get("/dashboard/members").text
