"""An operator looks at a merchant's dashboard: sees what a viewer sees, changes nothing, and the merchant is told."""

from __future__ import annotations

import re
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.contrib.sessions.models import Session
from django.http import HttpRequest
from django.test import Client
from pytest_django.fixtures import Settings

from config.database.previews import preview
from config.environments import Environment
from merchants.access.log_in.viewing import begin
from merchants.audit.models import LoggedAction
from merchants.models import Merchant, User
from merchants.people.models import Mail
from merchants.roles import Role
from tests.dashboard.addresses import FIELDS, READS, WRITES, Records, make_records
from tests.factories import make_member, make_merchant, make_user

pytestmark = pytest.mark.django_db

REFUSED = {
    "/dashboard/payments/new",
    "/dashboard/payments/{payment}/close",
    "/dashboard/payments/{payment}/refund",
    "/dashboard/decisions/accept",
    "/dashboard/decisions/give-back",
    "/dashboard/decisions/{discrepancy}/accept",
    "/dashboard/decisions/{discrepancy}/give-back",
    "/dashboard/links/new",
    "/dashboard/links/{link}/edit",
    "/dashboard/refunds/file",
    "/dashboard/settlements/now",
    "/dashboard/invoices/billing",
    "/dashboard/webhooks/bench",
    "/dashboard/preferences",
    "/dashboard/members/invite",
    "/dashboard/members/leave",
    "/dashboard/members/{member}/role",
    "/dashboard/members/{member}/remove",
    "/dashboard/members/{member}/hand-over",
    "/dashboard/wallets/set",
    "/dashboard/wallets/lost",
    "/dashboard/wallets/{wallet}/prove",
    "/dashboard/keys/new",
    "/dashboard/keys/{key}/rotate",
    "/dashboard/keys/{key}/delete",
    "/dashboard/requests",
    "/dashboard/requests/{logged}",
    "/dashboard/audit",
    "/dashboard/audit/export",
    "/dashboard/webhooks/new",
    "/dashboard/webhooks/signing-secret",
    "/dashboard/webhooks/{webhook}/edit",
    "/dashboard/webhooks/{webhook}/rotate",
    "/dashboard/webhooks/{webhook}/recover",
    "/dashboard/webhooks/{webhook}/disable",
    "/dashboard/webhooks/{webhook}/delete",
    "/dashboard/connect",
}
"""Those of READS that a viewer may not see, or that are there only to do something."""


def operator(*permissions: str, **fields: Any) -> tuple[Client, User]:
    user = make_user(is_staff=True, **fields)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client, user


def ask(client: Client, merchant: Merchant, *, reason: str = "A question by mail.") -> Any:
    form = {"action": "look_in_sandbox", "_selected_action": str(merchant.pk), "confirmed": "yes", "note": reason}
    return client.post("/admin/merchants/merchant/", form)


def looking(merchant: Merchant) -> tuple[Client, User]:
    client, user = operator("view_merchant", "view_as_merchant")
    assert ask(client, merchant).headers["Location"] == "/dashboard"
    return client, user


def whole_database() -> dict[str, list[Any]]:
    """Every row but those of log-in sessions."""
    models = [each for each in apps.get_models() if each is not Session and not each._meta.proxy]
    return {each._meta.label: list(each._base_manager.order_by("pk").values()) for each in models}


def test_a_viewing_sees_what_a_viewer_sees_marks_each_page_and_changes_no_row() -> None:
    merchant = make_merchant("Harbour Coffee")
    records: Records = make_records(merchant)
    client, user = looking(merchant)
    before = whole_database()
    replies = {path: client.get(records.in_path(path)) for path in READS}
    assert {path for path, reply in replies.items() if reply.status_code != 200} == REFUSED
    for path, reply in replies.items():
        assert reply.status_code in (200, 403), path
        shown = b"".join(reply).decode(errors="replace")
        assert not re.search(r"(whsec_|sk_(test|live)_)\w{8}", shown), path
        if reply.headers["Content-Type"].startswith("text/html") and "<body" in shown and "/preview" not in path:
            assert f"{user}: you look at Harbour Coffee (Sandbox) until" in shown, path
    for path in WRITES:
        assert client.post(records.in_path(path), FIELDS).status_code == 403, path
    for method in ("put", "patch", "delete", "options"):
        assert getattr(client, method)("/dashboard").status_code == 403, method
    for path in ("/account", "/account/app", "/mailbox", "/login", "/signup", f"/pay/{records.payment.public_id}"):
        assert client.get(path).status_code == 403, path
    for path in ("/account/password", "/admin/merchants/merchant/", "/login", "/signup"):
        assert client.post(path, {"action": "suspend", "_selected_action": str(merchant.pk)}).status_code == 403, path
    page = client.get(f"/admin/merchants/merchant/{merchant.pk}/change/").text
    assert (page.count("Stop looking"), page.count("css/viewing.css")) == (1, 1)
    assert whole_database() == before


def test_a_viewing_is_logged_and_told_once_with_its_reason() -> None:
    owner = make_member()
    make_member(owner.merchant, role=Role.ADMIN)
    client, user = looking(owner.merchant)
    for _ in range(3):
        assert client.get("/dashboard").status_code == 200
    row = LoggedAction.objects.get(action="merchant.view_as")
    assert (row.merchant, row.email, row.role) == (owner.merchant, user.email, "operator")
    assert row.after == {"operators": user.email, "reason": "A question by mail."}
    mail = Mail.objects.get()
    assert mail.to == owner.user.email
    assert user.email in mail.text
    assert "A question by mail." in mail.text
    assert "A question by mail." in LogEntry.objects.get().change_message
    reader = Client()
    reader.force_login(owner.user)
    assert "An operator of the service looked at the dashboard" in reader.get("/dashboard/audit").text


@pytest.mark.parametrize(
    "way", ["stopped", "logged out", "after an hour", "without the permission", "no operator", "no second factor"]
)
def test_a_viewing_ends(way: str, settings: Settings) -> None:
    merchant = make_merchant()
    client, user = looking(merchant)
    if way == "stopped":
        reply = client.post("/dashboard/stop-looking")
        assert reply.headers["Location"] == f"/admin/merchants/merchant/{merchant.pk}/change/"
    elif way == "logged out":
        assert client.post("/logout").status_code == 302
        client.force_login(user)
    elif way == "after an hour":
        session = client.session
        public_id, environment, until = session["viewing"]
        session["viewing"] = [public_id, environment, until - 3_600]
        session.save()
    elif way == "without the permission":
        user.user_permissions.clear()
    elif way == "no second factor":
        settings.OPERATOR_SECOND_FACTOR = True
    else:
        User.objects.filter(pk=user.pk).update(is_staff=False)
    assert client.get("/dashboard").status_code == 403
    assert "viewing" not in client.session
    assert "Stop looking" not in client.get("/account").text


def test_no_viewing_begins_in_a_preview() -> None:
    """A preview rolls back rows and mails, and not the session."""
    with preview(), pytest.raises(RuntimeError):
        begin(HttpRequest(), make_merchant(), Environment.SANDBOX)


def test_a_viewing_needs_its_permission_a_reason_and_the_second_factor(settings: Settings) -> None:
    merchant = make_merchant()
    without, _ = operator("view_merchant", "change_merchant")
    ask(without, merchant)
    assert without.get("/dashboard").status_code == 403
    client, user = operator("view_merchant", "view_as_merchant")
    assert "Look at this merchant&#x27;s dashboard?" in ask(client, merchant, reason=" ").text
    settings.OPERATOR_SECOND_FACTOR = True
    Authenticator.objects.create(user=user, type=Authenticator.Type.TOTP, data={"secret": "x"})
    assert ask(client, merchant).headers["Location"].startswith("/account/confirm/code?")
    assert client.get("/dashboard").status_code == 403
    assert not Mail.objects.exists()
    assert not LoggedAction.objects.filter(merchant=merchant).exists()
