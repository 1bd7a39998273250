"""Each role of operators on every route of the admin: what it sees, what it may do, and that the rest is refused."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission
from django.core.management import call_command
from django.db.models import Model
from django.test import Client, RequestFactory
from django.urls import URLResolver, get_resolver, reverse
from pytest_django.fixtures import Settings

from config.admin.roles import RIGHTS, Role, permissions_of
from config.admin.site import GROUPS, PAGES
from merchants.four_eyes.models import Proposal, ProposalKind, ProposalStatus
from merchants.four_eyes.services import NotPermitted, withdraw
from merchants.models import Merchant, User
from payments.models import Discrepancy
from tests.dashboard.addresses import make_records
from tests.factories import make_merchant, make_user
from tests.four_eyes.test_admin_pages import ways
from tests.operations.scenes import look
from tests.webhooks.scenes import make_endpoint
from tests.worlds import populated_once
from webhooks.services import disable_endpoint
from webhooks.states import DisabledReason

pytestmark = pytest.mark.django_db

ACTS: dict[str, str] = {
    "Support": "Delivery:redeliver Endpoint:enable Merchant:look,look_in_sandbox",
    "Finance": (
        "Alarm:acknowledge AllowedAddress:address,allow,environment,label,memo,memo_type,network,remove "
        "BillingDetails:treatment ColdWallet:address,environment,network "
        "Debt:collected,write_off DebtDecision:take_back Discrepancy:accept,attribute "
        "ExplainedFinding:finding,note,until,withdraw Funding:amount,asset,cancel,environment,network,reason "
        "Merchant:fee,name,plan,requests_per_minute,suspend "
        "MissingCoins:let_house_bear,let_merchant_bear NativeCoin:bring_in,note "
        "NetworkSnapshot:let_back,sweep_now PayerReturn:call_back,give_back Payout:approve,reject,try_again "
        "Settlement:retry Stop:address,asset,environment,is_halt,merchant,network,reason Withdrawal:cancel"
    ),
    "Security": (
        "Alarm:acknowledge ApiKey:revoke Deposit:release Invitation:delete,email "
        "Merchant:look,look_in_sandbox,name,requests_per_minute,resume,suspend "
        "Merchant/Member:delete,role,user "
        "Payout:release PayoutPolicy:approval_above,daily_limit,merchant_daily_limit,transfer_limit "
        "ReadingRequest:environment,last_height,network,read_again RoleChange:know SignUp:let_in,turn_away "
        "Stop:address,asset,environment,is_halt,lift,merchant,network,reason "
        "User:email,is_active,name,password,password1,password2,usable_password Wallet:freeze"
    ),
}
"""What each role can send to the pages of the admin: fields, actions and routes, by the page's model."""

FOR_EVERY_READER = {("Proposal", "agree"), ("Proposal", "withdraw")}
"""Actions of a page whose rows ask, one by one, who may: `test_only_those_who_may_agree_can_withdraw`."""
OF_THEIR_OWN = {"invoice_page", "auth_user_password_change", "explain", "by_hand"}
"""Routes of a page, which `ROUTES` has."""


def operator_of(role: Role) -> User:
    user = make_user(is_staff=True)
    user.groups.add(Group.objects.get(name=role.group))
    return user


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def shown_models() -> set[type[Model]]:
    """Every model with a page in the admin, or with a table on another's."""
    request = RequestFactory().get("/admin/")
    request.user = make_user(is_staff=True, is_superuser=True)
    found = set(admin.site._registry)
    for page in admin.site._registry.values():
        found |= {inline.model for inline in page.get_inline_instances(request, page.model())}
    return found


def test_every_model_that_the_admin_shows_is_in_the_table() -> None:
    assert {model._meta.label for model in shown_models()} == set(RIGHTS)


def test_a_page_of_its_own_asks_for_permissions_of_the_table() -> None:
    known = {f"{app}.{name}" for role in Role for app, name in permissions_of(role)}
    assert {name for pages in PAGES.values() for page in pages for name in page.permissions} <= known


def test_migrate_makes_the_groups_and_keeps_them_in_step() -> None:
    own, extra = Group.objects.create(name="Support"), Permission.objects.get(codename="change_payout")
    support = Group.objects.get(name=Role.SUPPORT.group)
    member = operator_of(Role.SUPPORT)
    for group in (own, support):
        group.permissions.add(extra)
    Group.objects.get(name=Role.FINANCE.group).delete()
    support.permissions.remove(Permission.objects.get(codename="change_delivery"))
    call_command("migrate", verbosity=0)
    assert list(own.permissions.all()) == [extra]
    assert list(member.groups.all()) == [support]
    for role in Role:
        held = Group.objects.get(name=role.group).permissions.values_list("content_type__app_label", "codename")
        assert set(held) == set(permissions_of(role)), role


@pytest.mark.parametrize("role", Role, ids=lambda role: role.label)
def test_a_role_may_do_exactly_this(role: Role) -> None:
    request = RequestFactory().get("/admin/")
    request.user = operator_of(role)
    found = {way for page in admin.site._registry.values() for way in ways(page, request)}
    listed = (each.split(":") for each in ACTS[role.label].split())
    expected = {(page, way) for page, them in listed for way in them.split(",")}
    assert {(page, way) for page, way in found if way not in OF_THEIR_OWN} - FOR_EVERY_READER == expected


@pytest.fixture
@populated_once
def merchant(db: None) -> Merchant:
    merchant = make_merchant("Harbour Coffee")
    make_records(merchant)
    look()
    return merchant


def sees(role: Role, label: str) -> bool:
    return role in RIGHTS[label].view


def key_of(model: type[Model]) -> object:
    row = model._default_manager.order_by("-pk").first()
    return row.pk if row is not None else uuid4() if model._meta.pk.get_internal_type() == "UUIDField" else 0


REFUSED = 403


@pytest.mark.parametrize("role", Role, ids=lambda role: role.label)
def test_every_page_is_open_or_refused_as_in_the_table(merchant: Merchant, role: Role) -> None:
    """Those that are open are opened by `test_no_link_leads_a_role_to_what_it_may_not_open`."""
    request, faults = RequestFactory().get("/admin/"), []
    request.user = operator_of(role)
    client = client_of(request.user)
    for model, page in admin.site._registry.items():
        label, name = model._meta.label, f"admin:{model._meta.app_label}_{model._meta.model_name}"
        if page.has_view_permission(request) != sees(role, label):
            faults.append(label)
        if not sees(role, label):
            for address in (reverse(f"{name}_changelist"), reverse(f"{name}_change", args=[key_of(model)])):
                status = client.get(address).status_code
                faults += [f"{address}: {status}"] if status != REFUSED else []
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("role", Role, ids=lambda role: role.label)
def test_what_a_role_may_not_do_is_refused(merchant: Merchant, role: Role, settings: Settings) -> None:
    """Sends every form, deletion and action of a superuser that the role has not."""
    settings.OPERATOR_EMAILS = ["ada@example.com"]
    boss, request = RequestFactory().get("/admin/"), RequestFactory().get("/admin/")
    boss.user, request.user = make_user(is_staff=True, is_superuser=True), operator_of(role)
    client, faults, tried = client_of(request.user), [], 0
    before = LogEntry.objects.count(), Proposal.objects.count()
    for model, page in admin.site._registry.items():
        name, key = f"admin:{model._meta.app_label}_{model._meta.model_name}", key_of(model)
        row: Any = model._default_manager.filter(pk=key).first()
        refused = {
            "add": (reverse(f"{name}_add"), page.has_add_permission(request)),
            "change": (reverse(f"{name}_change", args=[key]), page.has_change_permission(request, row)),
            "delete": (reverse(f"{name}_delete", args=[key]), page.has_delete_permission(request, row)),
        }
        for way, (address, may) in refused.items():
            if not may and (row is not None or way != "delete"):
                tried += 1
                status = client.post(address, {"post": "yes"}).status_code
                faults += [f"{address}: {status}"] if status != REFUSED else []
        for action in page.get_actions(boss).keys() - page.get_actions(request).keys():
            tried += 1
            sent = {"action": action, "_selected_action": [key], "confirmed": "yes", "note": "x", "answer": "x"}
            reply = client.post(reverse(f"{name}_changelist"), sent, follow=True)
            told = [] if reply.status_code == REFUSED else [str(each) for each in reply.context["messages"]]
            is_list = reply.status_code == REFUSED or "cl" in reply.context
            faults += [] if is_list and told in ([], ["No action selected."]) else [f"{name} {action}: {told}"]
    assert not faults, "\n".join(faults)
    assert (LogEntry.objects.count(), Proposal.objects.count()) == before
    assert tried > 100


@pytest.mark.parametrize("role", [Role.FINANCE, Role.SECURITY], ids=lambda role: role.label)
def test_finance_alone_changes_a_plan_and_a_fee(merchant: Merchant, role: Role) -> None:
    client = client_of(operator_of(role))
    entered = {"name": f"By {role.label}", "plan": "enterprise", "fee": "2.5", "requests_per_minute": ""}
    entered |= {f"{rows}-{count}_FORMS": "0" for rows in ("members", "settings") for count in ("TOTAL", "INITIAL")}
    before = Merchant.objects.values_list("plan", "fee_bps").get(pk=merchant.pk)
    address = reverse("admin:merchants_merchant_change", args=[merchant.pk])
    assert client.post(address, entered).status_code == 302
    name, *terms = Merchant.objects.values_list("name", "plan", "fee_bps").get(pk=merchant.pk)
    assert (name, tuple(terms)) == (f"By {role.label}", ("enterprise", 250) if role is Role.FINANCE else before)
    with_more = {**entered, "fee": "25"}
    client.post(address, with_more)
    assert Proposal.objects.filter(kind=ProposalKind.FEE).exists() == (role is Role.FINANCE)


def test_support_enables_a_webhook_again_and_others_do_not(merchant: Merchant) -> None:
    endpoint = make_endpoint(merchant)
    disable_endpoint(endpoint=endpoint, reason=DisabledReason.FAILING)
    sent = {"action": "enable", "_selected_action": str(endpoint.pk)}
    for role, status in ((Role.SECURITY, "disabled"), (Role.SUPPORT, "enabled")):
        client_of(operator_of(role)).post(reverse("admin:webhooks_endpoint_changelist"), sent)
        endpoint.refresh_from_db()
        assert endpoint.status == status


ROUTES = {
    "accounting": {Role.FINANCE, Role.SECURITY},
    "accounting/ledger": {Role.FINANCE, Role.SECURITY},
    "accounting/result": {Role.FINANCE, Role.SECURITY},
    "house/withdrawal/by-hand/": {Role.FINANCE},
    "invoices/invoice/<uuid:key>/page": set(Role),
    "merchants/user/<id>/password/": {Role.SECURITY},
    "payments/coldmove/explain/": {Role.FINANCE},
    "account": set(Role),
    "search": set(Role),
    # Django's own.
    "": set(Role),
    "jsi18n/": set(Role),
    "password_change/": set(Role),
    "password_change/done/": set(Role),
}
"""Routes besides those of lists and records, with the roles that they let in."""


def routes(found: Any = None, prefix: str = "") -> Iterator[str]:
    """Patterns of all routes of the admin."""
    for each in found or get_resolver().url_patterns:
        text = f"{prefix}{each.pattern}"
        if isinstance(each, URLResolver):
            yield from routes(each.url_patterns, text)
        elif text.startswith("admin/"):
            yield text.removeprefix("admin/")


def test_no_route_is_left_out(merchant: Merchant) -> None:
    of_records = {f"{model._meta.app_label}/{model._meta.model_name}/" for model in admin.site._registry}
    ends = ("", "add/", "<path:object_id>/", "<path:object_id>/history/", "<path:object_id>/delete/")
    of_records = {record + end for record in of_records for end in (*ends, "<path:object_id>/change/")}
    not_asked = {"login/", "logout/", "autocomplete/", "group/<slug:group>/"}
    not_asked |= {"r/<path:content_type_id>/<path:object_id>/"}  # no model has an address of its own
    redirects = {"(?P<url>.*)$", "<path:object_id>/"}
    assert {text for text in routes() if not text.startswith("^")} - of_records - not_asked - redirects == set(ROUTES)


@pytest.mark.parametrize("role", Role, ids=lambda role: role.label)
def test_pages_of_their_own_are_shown_or_refused(merchant: Merchant, role: Role) -> None:
    client = client_of(operator_of(role))
    keys = {"<uuid:key>": key_of(apps.get_model("invoices.Invoice")), "<id>": make_user().pk}
    for text, roles in ROUTES.items():
        address = f"/admin/{text}"
        for name, key in keys.items():
            address = address.replace(name, str(key))
        assert (client.get(address).status_code != REFUSED) == (role in roles), address
        if role not in roles:
            assert client.post(address, {}).status_code in (REFUSED, 405), address


@pytest.mark.parametrize("role", Role, ids=lambda role: role.label)
def test_menus_and_the_first_page_have_what_the_role_sees_and_no_more(merchant: Merchant, role: Role) -> None:
    client, expected = client_of(operator_of(role)), defaultdict(list)
    today = client.get(reverse("admin:index"))
    for group, labels in GROUPS.items():
        expected[group] = [label for label in labels if sees(role, label)]
    shown = {group["name"]: group["models"] for group in today.context["available_apps"]}
    for group, models in shown.items():
        assert [row["model"]._meta.label for row in models if "model" in row] == expected[group]
        assert client.get(reverse("admin:group", args=[group.lower()])).status_code == 200
    assert set(shown) == {group for group, labels in expected.items() if labels}
    found = client.get(reverse("operators_search"), {"q": "Harbour"})
    filtered = {each for each in _links(today.text + found.text) if each.startswith("/admin/") and "?" in each}
    for address in sorted(filtered):
        assert client.get(address).status_code in (200, 302), address


def _links(html: str) -> set[str]:
    return {each.replace("&amp;", "&") for each in re.findall(r'href="([^"#]+)"', html)}


def test_only_those_who_may_agree_can_withdraw_what_another_proposed(merchant: Merchant) -> None:
    finance, security = operator_of(Role.FINANCE), operator_of(Role.SECURITY)
    row = Discrepancy.objects.latest("pk")
    proposal = Proposal.objects.create(
        kind=ProposalKind.ACCEPT, environment="production", subject=str(row.pk), after={}, told="x", proposed_by=finance
    )
    with pytest.raises(NotPermitted):
        withdraw(proposal, by=security)
    proposal.refresh_from_db()
    assert proposal.status == ProposalStatus.WAITING
    assert withdraw(proposal, by=operator_of(Role.FINANCE)).status == ProposalStatus.WITHDRAWN
