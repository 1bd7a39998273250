"""Operators of their own accounts: led to a second factor and back, and their own page in the admin."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from config.admin.roles import Role
from merchants.four_eyes.models import Proposal
from merchants.four_eyes.services import agree
from merchants.models import User
from merchants.people.operator_rights import propose_rights
from payments.monitoring.models import Alarm
from tests.admin.test_words import faults_of
from tests.factories import make_user
from tests.operations.scenes import there_is
from tests.operations.test_admin import LOW
from tests.people.clock import Clock
from tests.people.test_second_factors import code_of, enter

pytestmark = pytest.mark.django_db

OWN = "/admin/account"


def operator(*roles: Role) -> User:
    user = make_user(is_staff=True)
    user.groups.set(Group.objects.filter(name__in=[role.group for role in roles]))
    return user


def test_an_operator_is_led_to_a_second_factor_and_back_to_the_page(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.OPERATOR_SECOND_FACTOR = True
    wanted = reverse("admin:payments_payment_changelist") + "?status__exact=completed"
    for user in (operator(role) for role in Role):
        client, _target = enter(user)
        for page in (OWN, "/admin/", wanted):
            assert client.get(page).headers["Location"] == reverse("account")
        led = client.get(reverse("account"))
        assert "Operators need a second factor" in led.text
        assert f'href="{wanted}"' in led.text
        clock = Clock(monkeypatch)
        client.get("/account/app")
        client.post("/account/app", {"code": code_of(client.session["mfa.totp.secret"], clock)})
        assert f'href="{wanted}"' in client.get("/account/codes").text
        assert client.get(wanted).status_code == 200
        assert f'href="{OWN}"' in client.get(reverse("account")).text


def test_an_operators_own_page_says_what_they_may_do_and_did() -> None:
    ada, bob = operator(Role.FINANCE), make_user("bob@example.com", is_staff=True, is_superuser=True)
    ada.groups.add(Group.objects.create(name="Tax advisers"))
    client, _target = enter(ada)
    assert "Nothing yet." in client.get(OWN).text
    there_is(LOW)
    client.post(reverse("admin:index"), {"alarm": Alarm.objects.get().pk})
    proposed = propose_rights(make_user("eve@example.com"), {"is_staff": True}, by=bob)
    page = client.get(OWN)
    assert page.context["title"] == "My account"
    assert [label for label, _purpose in page.context["roles"]] == ["Finance"]
    assert "Groups of your own: Tax advisers." in page.text
    assert [each.what for each in page.context["done"]] == ["Acknowledged."]
    assert str(proposed) not in page.text
    assert not list(faults_of(page.text))
    enter(bob)
    other, _target = enter(bob)
    page = other.get(OWN)
    assert ("Admin" in page.text, str(proposed) in page.text) == (True, True)
    assert page.text.count('name="from" value="operators"') == 2


def test_a_link_leads_only_to_what_may_be_seen() -> None:
    there_is(LOW)
    alarm = Alarm.objects.get()
    ada = operator(Role.FINANCE)
    client, _target = enter(ada)
    client.post(reverse("admin:index"), {"alarm": alarm.pk})
    link = f'href="{reverse("admin:operations_alarm_change", args=[alarm.pk])}"'
    assert link in client.get(OWN).text
    ada.groups.set(Group.objects.filter(name=Role.SUPPORT.group))
    assert link not in client.get(OWN).text
    assert str(alarm) in client.get(OWN).text


def test_sessions_are_ended_from_there_and_it_comes_back() -> None:
    ada = operator(Role.SUPPORT)
    here, _target = enter(ada)
    there, _target = enter(ada)
    other = next(each for each in here.get(OWN).context["log_ins"] if not each.is_this)
    reply = here.post(reverse("end_session", args=[other.id]), {"from": "operators"})
    assert reply.headers["Location"] == OWN
    assert there.get(OWN).status_code == 302
    assert here.post(reverse("end_other_sessions"), {"from": "operators"}).headers["Location"] == OWN
    assert here.post(reverse("end_other_sessions")).headers["Location"] == reverse("account")


def test_nobody_else_sees_it() -> None:
    client = Client()
    client.force_login(make_user())
    assert client.get(OWN).status_code == 302


def test_a_role_is_given_in_words_by_two(settings: Settings) -> None:
    settings.OPERATORS_TO_DECIDE = 2
    ada, bob = (make_user(is_staff=True, is_superuser=True) for _ in range(2))
    eve, group = make_user("eve@example.com", name="Eve"), Group.objects.get(name=Role.FINANCE.group)
    address = reverse("admin:merchants_user_change", args=[eve.pk])
    client, _target = enter(ada)
    page = client.get(address).text
    assert all(f"{role.label}: {role.purpose}" in page for role in Role)
    entered = {"email": eve.email, "name": "Eve", "is_active": "on"}
    told = client.post(address, {**entered, "groups": [group.pk]}, follow=True).text
    assert "becomes: operator, Finance: another superuser must agree." in told
    eve.refresh_from_db()
    assert (eve.is_staff, eve.groups.exists()) == (False, False)
    agree(Proposal.objects.get(), by=bob)
    eve.refresh_from_db()
    assert (eve.is_staff, list(eve.groups.all())) == (True, [group])
    assert "Finance" in client.get(reverse("admin:merchants_user_changelist")).text
    client.post(address, {**entered, "groups": [group.pk]})  # one takes away, though the role stays ticked
    eve.refresh_from_db()
    assert eve.is_staff is False
