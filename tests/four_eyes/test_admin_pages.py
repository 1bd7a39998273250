"""Every way by which the admin changes something is listed here, with why one operator may use it alone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from allauth.mfa.models import Authenticator
from django.contrib import admin
from django.contrib.admin.options import InlineModelAdmin
from django.contrib.auth.admin import GroupAdmin
from django.contrib.auth.models import Group, Permission
from django.db.models import Model
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.urls import reverse
from django.urls.converters import UUIDConverter
from pytest_django.fixtures import Settings

from merchants.access.log_in.step_up import LOGGED_IN_AT
from merchants.models import Member
from merchants.people.operator_rights import propose_member
from tests.factories import PASSWORD, make_merchant, make_user

pytestmark = pytest.mark.django_db

TWO: dict[str, str] = {
    "AllowedAddress": "allow",
    "ColdMove": "explain",
    "Debt": "collected write_off",
    "DebtDecision": "take_back",
    "Deposit": "release",
    "Discrepancy": "accept attribute",
    "ExplainedFinding": "finding note until",
    "Funding": "amount asset environment network reason",
    "Merchant": "fee plan resume",  # a fee above the bound
    "Merchant/Member": "delete role user",  # of an owner or admin
    "MissingCoins": "let_house_bear let_merchant_bear",
    "PayerReturn": "give_back",
    "Payout": "approve release",
    "PayoutPolicy": "approval_above daily_limit merchant_daily_limit transfer_limit",
    "Proposal": "agree",
    "Stop": "lift",
    "User": "groups is_active is_staff is_superuser user_permissions",
    "Withdrawal": "by_hand",
}
"""By page: the fields, actions and routes that take two, by a proposal or by what the row itself asks for."""

ONE: dict[str, str] = {
    "Alarm": "acknowledge",
    "AllowedAddress": "address environment label memo memo_type network remove",  # waits until it is allowed
    "ApiKey": "revoke",
    "BillingDetails": "treatment",
    "ColdWallet": "address environment network",
    "Delivery": "redeliver",
    "Endpoint": "enable",
    "ExplainedFinding": "withdraw",
    "Funding": "cancel",
    "Invitation": "delete email",
    "Invoice": "invoice_page",
    "Merchant": "email look look_in_sandbox name requests_per_minute suspend",
    "NativeCoin": "bring_in note",
    "NetworkSnapshot": "let_back sweep_now",
    "PayerReturn": "call_back",
    "Payout": "reject try_again",
    "Proposal": "withdraw",
    "ReadingRequest": "environment last_height network read_again",
    "RoleChange": "know",
    "Settlement": "retry",
    "SignUp": "let_in turn_away",
    "Stop": "address asset environment is_halt merchant network reason",
    "User": "auth_user_password_change email name password password1 password2 usable_password",
    "Wallet": "freeze",
    "Withdrawal": "cancel",
}
"""What one may do alone: it gives nobody more rights, members, money or limits, or it takes them away."""

# Columns that the services fill in, whatever is sent.
FILLED = {"added_at", "added_by", "agreed_by", "allowed_at", "allowed_by", "decimals", "ended_at", "first_height"}
FILLED |= {"posting", "proposed_by", "read_to", "removed_at", "removed_by", "status"}


def ways(page: Any, request: HttpRequest) -> Iterator[tuple[str, str]]:
    """What a superuser can send to a page of the admin: fields to add and to change, deletion, actions, more routes."""
    name, row = page.model.__name__, page.model()
    yield from ((name, way) for way in _of_forms(page, request, row, is_inline=False))
    for inline in page.get_inline_instances(request, row):
        yield from ((f"{name}/{inline.model.__name__}", way) for way in _of_forms(inline, request, row, is_inline=True))
    yield from ((name, action) for action in page.get_actions(request) if action != "delete_selected")
    yield from ((name, field) for field in page.list_editable)
    prefix = f"{page.opts.app_label}_{page.opts.model_name}_"
    routes = {route.name.removeprefix(prefix) for route in page.get_urls() if route.name}
    yield from ((name, route) for route in routes - {"changelist", "add", "history", "delete", "change"})


def _of_forms(page: Any, request: HttpRequest, row: Model, *, is_inline: bool) -> Iterator[str]:
    if page.has_add_permission(request, *([row] if is_inline else [])):
        yield from _fields(page, request, row if is_inline else None)
    if page.has_change_permission(request, row):
        yield from _fields(page, request, row)
    if page.has_delete_permission(request, row):
        yield "delete"


def _fields(page: Any, request: HttpRequest, row: Model | None) -> set[str]:
    is_inline = isinstance(page, InlineModelAdmin)
    form = page.get_formset(request, row).form if is_inline else page.get_form(request, row, change=row is not None)
    return set(form.base_fields) - FILLED


def unlisted(site: admin.AdminSite) -> set[tuple[str, str]]:
    request = RequestFactory().get("/admin/")
    request.user = make_user(is_staff=True, is_superuser=True)
    found = {way for page in site._registry.values() for way in ways(page, request)}
    return found ^ {(page, way) for table in (ONE, TWO) for page, them in table.items() for way in them.split()}


def test_every_way_to_change_something_is_listed() -> None:
    assert unlisted(admin.site) == set()
    assert not {page for page in ONE if page in TWO and set(ONE[page].split()) & set(TWO[page].split())}


def test_an_added_way_is_found() -> None:
    planted = admin.AdminSite()
    planted._registry = {**admin.site._registry, Group: GroupAdmin(Group, planted)}
    assert unlisted(planted) == {("Group", "name"), ("Group", "permissions"), ("Group", "delete")}


def test_every_change_in_the_admin_asks_again_who_it_is() -> None:
    """Walks every route of every page of the admin, with a log-in of eleven minutes ago."""
    client = Client(enforce_csrf_checks=False)
    client.force_login(make_user(is_staff=True, is_superuser=True))
    session = client.session
    session[LOGGED_IN_AT] = int(time.time()) - 660
    session.save()
    paths = {"/admin/accounting/", "/admin/password_change/"}
    for page in admin.site._registry.values():
        for route in page.get_urls():
            if route.name:
                taken = route.pattern.converters.values()
                keys = [uuid4() if isinstance(each, UUIDConverter) else "1" for each in taken]
                paths.add(reverse(f"admin:{route.name}", args=keys))
    for path in sorted(paths):
        reply = client.post(path, {"action": "agree", "confirmed": "yes"})
        assert reply.headers.get("Location", "").startswith(reverse("account_reauthenticate")), path
    assert len(paths) > 100
    assert client.post("/admin/logout/").status_code == 200


def test_who_agrees_is_asked_again_and_then_it_is_done(settings: Settings) -> None:
    merchant, taker, ada = make_merchant(), make_user(), make_user(is_staff=True, is_superuser=True)
    proposal = propose_member(merchant=merchant, user=taker, role="owner", by=ada)
    client = Client(enforce_csrf_checks=True)
    bob = make_user(is_staff=True, is_superuser=True)
    client.force_login(bob)
    client.get("/admin/")
    listing = reverse("admin:four_eyes_proposal_changelist")
    token = client.get(listing).context["csrf_token"]
    session = client.session
    session[LOGGED_IN_AT] = int(time.time()) - 660
    session.save()
    act = {"action": "agree", "_selected_action": [proposal.pk], "confirmed": "yes", "csrfmiddlewaretoken": str(token)}
    asked = client.post(listing, act).headers["Location"]
    assert not Member.objects.exists()
    client.post(asked, {"password": PASSWORD, "csrfmiddlewaretoken": str(token), "next": listing})
    assert Member.objects.get().user == taker


def test_an_operator_without_a_second_factor_is_sent_to_add_one(settings: Settings) -> None:
    settings.OPERATOR_SECOND_FACTOR = True
    client, ada = Client(), make_user(is_staff=True, is_superuser=True)
    client.force_login(ada)
    page = client.get("/admin/", follow=True)
    assert page.redirect_chain == [(reverse("account"), 302)]
    assert "Operators need a second factor" in page.text
    assert reverse("mfa_activate_totp") in page.text
    assert 'href="/admin/"' in page.text
    assert client.get(reverse("mfa_activate_totp")).status_code == 200
    codes = {"type": Authenticator.Type.RECOVERY_CODES, "data": {}}
    Authenticator.objects.create(user=ada, **codes)
    assert client.get("/admin/").status_code == 302
    Authenticator.objects.create(user=ada, type=Authenticator.Type.TOTP, data={"secret": "x"})
    assert client.get("/admin/").status_code == 200


def test_nobody_adds_to_what_a_colleagues_group_may_do() -> None:
    client, group = Client(), Group.objects.create(name="Look only")
    client.force_login(make_user(is_staff=True, is_superuser=True))
    permission = Permission.objects.get(codename="change_payoutpolicy")
    form = {"name": group.name, "permissions": [permission.pk]}
    assert client.post(f"/admin/auth/group/{group.pk}/change/", form).status_code == 404
    assert not group.permissions.exists()
