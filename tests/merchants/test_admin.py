"""The operators' pages about merchants, people and keys."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from merchants.models import ApiKey, Merchant, MerchantSettings, Plan, User
from tests.factories import api_client, make_key, make_member, make_user

pytestmark = pytest.mark.django_db


def operator(*permissions: str, is_superuser: bool = False) -> Client:
    user = make_user(is_staff=True, is_superuser=is_superuser)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def superuser() -> Client:
    return operator(is_superuser=True)


def test_every_page_opens(superuser: Client) -> None:
    member = make_member()
    key = make_key(member.merchant).key
    pages = [
        "/admin/",
        "/admin/merchants/user/",
        "/admin/merchants/user/add/",
        f"/admin/merchants/user/{member.user.pk}/change/",
        f"/admin/merchants/user/{make_user().pk}/password/",
        "/admin/merchants/merchant/",
        "/admin/merchants/merchant/add/",
        f"/admin/merchants/merchant/{member.merchant.pk}/change/",
        "/admin/merchants/apikey/?q=test",
        f"/admin/merchants/apikey/{key.pk}/change/",
    ]
    assert {page: superuser.get(page).status_code for page in pages} == dict.fromkeys(pages, 200)


def test_what_is_kept_of_a_secret_is_never_shown(superuser: Client) -> None:
    key = make_key().key
    page = superuser.get(f"/admin/merchants/apikey/{key.pk}/change/").content.decode()
    assert key.public_key in page
    assert "digest" not in page.lower()
    assert bytes(key.secret_digest).hex() not in page


def test_a_person_is_added_by_e_mail_and_can_log_in(superuser: Client) -> None:
    entered = {"email": "new@example.com", "name": "New", "usable_password": "true"}
    entered |= dict.fromkeys(("password1", "password2"), "a long enough phrase")
    assert superuser.post("/admin/merchants/user/add/", entered).status_code == 302
    assert User.objects.get(email="new@example.com").check_password("a long enough phrase")


def test_a_merchant_is_opened_with_settings_and_renamed(superuser: Client) -> None:
    entered = {"name": "Corner Shop", "email": "shop@example.com", "plan": "enterprise", "requests_per_minute": "9000"}
    assert superuser.post("/admin/merchants/merchant/add/", entered).status_code == 302
    merchant = Merchant.objects.get(name="Corner Shop")
    assert (merchant.plan, merchant.requests_per_minute) == (Plan.ENTERPRISE, 9000)
    assert MerchantSettings.objects.filter(merchant=merchant).count() == 2
    entered = {"name": "Corner", "plan": "starter", "requests_per_minute": "", "members-TOTAL_FORMS": "0"}
    entered |= {"members-INITIAL_FORMS": "0", "settings-TOTAL_FORMS": "0", "settings-INITIAL_FORMS": "0"}
    assert superuser.post(f"/admin/merchants/merchant/{merchant.pk}/change/", entered).status_code == 302
    merchant.refresh_from_db()
    assert (merchant.name, merchant.plan, merchant.requests_per_minute) == ("Corner", Plan.STARTER, None)


def test_only_an_enterprise_merchant_has_a_budget_of_its_own(superuser: Client) -> None:
    entered = {"name": "Shop", "email": "shop@example.com", "plan": "starter", "requests_per_minute": "9000"}
    assert superuser.post("/admin/merchants/merchant/add/", entered).status_code == 200
    assert not Merchant.objects.exists()


def test_a_revoked_key_stops_working(superuser: Client) -> None:
    issued = make_key()
    superuser.post("/admin/merchants/apikey/", {"action": "revoke", "_selected_action": str(issued.key.pk)})
    assert api_client(issued).call("GET", "/merchant").status_code == 401


def test_revoking_needs_its_permission() -> None:
    key = make_key().key
    client = operator("view_apikey")
    client.post("/admin/merchants/apikey/", {"action": "revoke", "_selected_action": str(key.pk)})
    assert ApiKey.objects.get().revoked_at is None


def test_only_a_superuser_gives_rights_away_or_changes_a_superuser() -> None:
    client = operator("change_user", "view_user")
    somebody, root = make_user(), make_user(is_superuser=True)
    entered = {"email": somebody.email, "name": "Renamed", "is_active": "on", "is_superuser": "on", "is_staff": "on"}
    assert client.post(f"/admin/merchants/user/{somebody.pk}/change/", entered).status_code == 302
    somebody.refresh_from_db()
    assert (somebody.name, somebody.is_superuser, somebody.is_staff) == ("Renamed", False, False)
    assert client.post(f"/admin/merchants/user/{root.pk}/change/", entered).status_code == 403
    assert client.get(f"/admin/merchants/user/{root.pk}/password/").status_code == 403


def test_nothing_can_be_deleted(superuser: Client) -> None:
    member = make_member()
    key = make_key(member.merchant).key
    for page in (f"user/{member.user.pk}", f"merchant/{member.merchant.pk}", f"apikey/{key.pk}"):
        assert superuser.post(f"/admin/merchants/{page}/delete/", {"post": "yes"}).status_code == 403
    assert User.objects.filter(pk=member.user.pk).exists()


def test_operators_log_in_at_the_common_door() -> None:
    reply = Client().get("/admin/", follow=True)
    assert reply.redirect_chain[-1][0] == "/login?next=/admin/"
    stranger = Client()
    stranger.force_login(make_user())
    assert stranger.get("/admin/", follow=True).status_code == 403
