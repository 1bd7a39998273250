"""The merchant's own pages: logging in and out, the environment in view, key pairs, settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from config import ids
from config.environments import Environment
from config.errors import DomainError
from merchants import wording
from merchants.access.devices import remember_device
from merchants.access.sessions import (
    MemberRequest,
    TooManyLogIns,
    account_name,
    choose_environment,
    log_in,
    log_out,
    member_required,
)
from merchants.access.single_use import close_form, open_form
from merchants.forms import KeyPairForm, LogInForm, SettingsForm
from merchants.models import ApiKey, MerchantSettings, Role
from merchants.services import IssuedKey, fee_bps_of, issue_api_key, revoke_api_key, update_settings

ROTATION_REMINDER = timedelta(days=90)


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def show_log_in(request: HttpRequest) -> HttpResponse:
    target = _own_address(request, request.POST.get("next") or request.GET.get("next", ""))
    if request.user.is_authenticated and request.method != "POST":
        return redirect(target or "dashboard")
    form = LogInForm(request.POST or None)
    status, wait = 200, None
    if request.method == "POST" and form.is_valid():
        try:
            log_in(request, **form.cleaned_data)
        except TooManyLogIns as refusal:
            form.add_error(None, refusal.message)
            status, wait = refusal.status, refusal.retry_after_seconds
        except DomainError as refusal:
            form.add_error(None, refusal.message)
            status = 400
        else:
            response = redirect(target or "dashboard")
            remember_device(request, response, account_name(form.cleaned_data["email"]))
            return response
    elif form.errors:
        status = 400
    page = render(request, "account/login.html", {"form": form, "next": target}, status=status)
    if wait is not None:
        page.headers["Retry-After"] = str(wait)
    return page


@require_POST
def leave(request: HttpRequest) -> HttpResponse:
    log_out(request)
    return redirect("login")


@require_POST
@member_required
def switch_environment(request: MemberRequest) -> HttpResponse:
    """Another environment is another set of records, so the way on is the start page."""
    chosen = request.POST.get("environment", "")
    if chosen not in Environment.values:
        raise Http404
    choose_environment(request, Environment(chosen))
    return redirect("dashboard")


def _own_address(request: HttpRequest, address: str) -> str:
    """The address if it is one of this site, else nothing: a link must not send people elsewhere."""
    own = url_has_allowed_host_and_scheme(address, {request.get_host()}, require_https=request.is_secure())
    return address if own else ""


@dataclass(frozen=True)
class KeyRow:
    """A key pair as the list shows it."""

    key: ApiKey
    now: datetime

    @property
    def public_id(self) -> str:
        return self.key.public_id

    @property
    def expired(self) -> bool:
        return self.key.expires_at is not None and self.key.expires_at <= self.now

    @property
    def due_for_rotation(self) -> bool:
        return not self.expired and self.key.created_at <= self.now - ROTATION_REMINDER


KEY_COLUMNS = (
    {"label": "Name"},
    {"label": "Public key"},
    {"label": "May do"},
    {"label": "Created"},
    {"label": "Last used"},
    {"label": "Expires"},
    {"label": "Actions"},
)


@never_cache
@require_safe
@member_required
def list_keys(request: MemberRequest) -> HttpResponse:
    now = timezone.now()
    keys = ApiKey.objects.of(request.merchant, request.environment).live().order_by("-id")
    rows = [KeyRow(key, now) for key in keys]
    context = {
        "section": "dashboard_keys",
        "may_write": request.member.role != Role.VIEWER,
        "columns": KEY_COLUMNS,
        "rows": rows,
        "due_for_rotation": [row.key.name for row in rows if row.due_for_rotation],
    }
    return render(request, "dashboard/keys/list.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(role=Role.DEVELOPER)
def generate_key(request: MemberRequest) -> HttpResponse:
    """Makes a pair and answers with its secret: the one time that it is shown.

    Each form makes one pair: sending it again, by reloading the answer, makes and shows nothing.
    """
    form = KeyPairForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        if not close_form(request):
            messages.warning(request, "That form was already used. A secret is shown only once, when its pair is made.")
            return redirect("dashboard_keys")
        if (issued := _issue_key(request, form)) is not None:
            context = {"section": "dashboard_keys", "key": issued.key, "secret": issued.secret}
            return render(request, "dashboard/keys/issued.html", context)
    context = {"section": "dashboard_keys", "form": form, "form_id": open_form(request)}
    return render(request, "dashboard/keys/generate.html", context)


def _issue_key(request: MemberRequest, form: KeyPairForm) -> IssuedKey | None:
    try:
        return issue_api_key(
            merchant=request.merchant,
            environment=request.environment,
            name=form.cleaned_data["name"],
            scopes=tuple(form.cleaned_data["scopes"]),
            expires_at=form.expires_at(),
            allowed_networks=form.cleaned_data["allowed_networks"],
            require_signature=form.cleaned_data["require_signature"],
            created_by=request.user,
        )
    except DomainError as refusal:
        form.add_refusal(refusal)
        return None


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(role=Role.DEVELOPER)
def delete_key(request: MemberRequest, key_id: str) -> HttpResponse:
    key = _own_key(request, key_id)
    if request.method == "POST":
        revoke_api_key(key=key)
        messages.success(request, f"“{key.name}” is deleted. Requests with it are refused from now on.")
        return redirect("dashboard_keys")
    return render(request, "dashboard/keys/delete.html", {"section": "dashboard_keys", "key": key})


def _own_key(request: MemberRequest, key_id: str) -> ApiKey:
    own = ApiKey.objects.of(request.merchant, request.environment).live()
    return get_object_or_404(own, pk=ids.KEY.decode(key_id))


@dataclass(frozen=True)
class Outlook:
    """What settlements will make of the settings; the route table says who knows."""

    next_run_at: datetime | None
    """None when the merchant asks for each settlement itself."""
    cooling_off: Mapping[str, datetime]
    """New wallets of the allow list, and from when on they are paid."""


OutlookOf = Callable[[MerchantSettings, datetime], Outlook]


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required
def edit_settings(request: MemberRequest, outlook_of: OutlookOf) -> HttpResponse:
    """Every member may look; owners decide, because settings say where money goes."""
    may_edit = request.member.role == Role.OWNER
    if request.method == "POST":
        if not may_edit:
            raise PermissionDenied
        form = SettingsForm(request.POST)
        if form.is_valid() and _save_settings(request, form):
            messages.success(request, "The settings are saved.")
            return redirect("dashboard_settings")
    else:
        form = SettingsForm(initial=SettingsForm.initial_of(_settings_of(request)))
    for field in form.fields.values():
        field.disabled = not may_edit
    company = [
        ("Name", request.merchant.name),
        ("E-mail", request.merchant.email),
        ("Plan", request.merchant.get_plan_display()),
        ("Fee", f"{Decimal(fee_bps_of(request.merchant)) / 100:.2f} % of what payments bring in"),
        ("Merchant id", request.merchant.public_id),
    ]
    context = {
        "section": "dashboard_settings",
        "form": form,
        "may_edit": may_edit,
        "company": company,
        **_outlook_context(_settings_of(request), outlook_of),
    }
    return render(request, "dashboard/settings.html", context)


def _settings_of(request: MemberRequest) -> MerchantSettings:
    return request.merchant.settings.get(environment=request.environment)


def _outlook_context(chosen: MerchantSettings, outlook_of: OutlookOf) -> dict[str, object]:
    now = timezone.now()
    outlook, zone = outlook_of(chosen, now), chosen.settlement_timezone
    next_run_at = outlook.next_run_at
    return {
        "next_run_at": next_run_at,
        "next_run": wording.local(next_run_at, zone) if next_run_at else "",
        "next_run_zone": wording.zone(zone),
        "next_run_from_now": wording.from_now(next_run_at, now) if next_run_at else "",
        "cooling_off": [(wallet, wording.local(until, zone)) for wallet, until in sorted(outlook.cooling_off.items())],
    }


def _save_settings(request: MemberRequest, form: SettingsForm) -> bool:
    try:
        update_settings(merchant=request.merchant, environment=request.environment, changes=form.changes())
    except DomainError as refusal:
        form.add_refusal(refusal)
        return False
    return True
