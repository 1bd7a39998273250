"""The merchant's own pages: logging in and out, the environment in view, settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from config.environments import Environment
from config.errors import DomainError
from config.hooks import Hook
from config.pages.wording import percent
from merchants import wording
from merchants.access.log_in.sessions import (
    MemberRequest,
    TooManyLogIns,
    choose_environment,
    log_in,
    log_out,
    member_required,
)
from merchants.access.log_in.viewing import end as end_viewing
from merchants.access.log_in.viewing import viewing_of
from merchants.audit.recording import fields_of
from merchants.models import MerchantSettings
from merchants.pages.forms import LogInForm, PolicyForm, SettingsForm
from merchants.roles import Action, Permission
from merchants.services import fee_bps_of, update_settings


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
            return log_in(request, **form.cleaned_data, target=target or None)
        except TooManyLogIns as refusal:
            form.add_error(None, refusal.message)
            status, wait = refusal.status, refusal.retry_after_seconds
        except DomainError as refusal:
            form.add_error(None, refusal.message)
            status = 400
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
def stop_viewing(request: HttpRequest) -> HttpResponse:
    """An operator who looked at a merchant's dashboard is done with it."""
    viewing = viewing_of(request)
    end_viewing(request)
    if viewing is None:
        return redirect("dashboard")
    return redirect("admin:merchants_merchant_change", viewing.merchant.pk)


@require_POST
@member_required(only_session=True)
def switch_environment(request: MemberRequest) -> HttpResponse:
    """Switch the environment, and go to the start page: the other environment has other records. A page that has none
    names itself as `next`."""
    chosen = request.POST.get("environment", "")
    if chosen not in Environment.values:
        raise Http404
    choose_environment(request, Environment(chosen))
    return redirect(_own_address(request, request.POST.get("next", "")) or "dashboard")


def _own_address(request: HttpRequest, address: str) -> str:
    """The URL if it is on this site, else an empty text: a link must not lead elsewhere."""
    own = url_has_allowed_host_and_scheme(address, {request.get_host()}, require_https=request.is_secure())
    return address if own else ""


@contextmanager
def reporting(request: MemberRequest, success: str) -> Iterator[None]:
    """Report to the member, and to the audit log, that the request is done, or why it was refused."""
    try:
        yield
    except DomainError as refusal:
        messages.error(request, refusal.message)
        request.action.refused()
    else:
        messages.success(request, success)


@dataclass(frozen=True)
class Outlook:
    """Settlements that will follow from the settings."""

    next_runs: Sequence[datetime]
    """The next three; none when the merchant requests each settlement itself."""
    cooling_off: Mapping[str, datetime]
    """New wallets of the allow list, and from when on they are paid."""


outlook_of: Hook[[MerchantSettings, datetime], Outlook] = Hook("outlook_of")
"""The outlook for a merchant's settings at an instant; settlements provide it."""


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(permission=Permission.SEE, action=Action.CHANGE_SETTINGS)
def edit_settings(request: MemberRequest) -> HttpResponse:
    """Every member may look; only some may change where money goes."""
    if request.method == "POST":
        form = SettingsForm(request.POST)
        if form.is_valid() and save_settings(request, form):
            messages.success(request, _("The settings are saved."))
            return redirect("dashboard_settings")
    else:
        form = SettingsForm(initial=SettingsForm.initial_of(_settings_of(request)))
    for field in form.fields.values():
        field.disabled = not request.member.may[Permission.MANAGE_SETTINGS]
    fee = percent(Decimal(fee_bps_of(request.merchant)) / 100, digits=2)
    company = [
        (_("Name"), request.merchant.name),
        (_("E-mail"), request.merchant.email),
        (_("Plan"), request.merchant.get_plan_display()),
        (_("Fee"), _("%(share)s of what payments bring in") % {"share": fee}),
        (_("Merchant id"), request.merchant.public_id),
    ]
    context = {
        "section": "dashboard_settings",
        "form": form,
        "company": company,
        **_outlook_context(_settings_of(request)),
    }
    return render(request, "dashboard/settings.html", context)


def _settings_of(request: MemberRequest) -> MerchantSettings:
    return request.merchant.settings.get(environment=request.environment)


def _outlook_context(chosen: MerchantSettings) -> dict[str, object]:
    now = timezone.now()
    outlook, zone = outlook_of(chosen, now), chosen.settlement_timezone
    next_run_at = outlook.next_runs[0] if outlook.next_runs else None
    return {
        "next_run_at": next_run_at,
        "next_run": wording.local(next_run_at, zone) if next_run_at else "",
        "later_runs": [wording.with_offset(instant, zone) for instant in outlook.next_runs[1:]],
        "next_run_zone": wording.zone(zone),
        "next_run_from_now": wording.from_now(next_run_at, now) if next_run_at else "",
        "cooling_off": [(wallet, wording.local(until, zone)) for wallet, until in sorted(outlook.cooling_off.items())],
    }


def save_settings(request: MemberRequest, form: SettingsForm | PolicyForm) -> bool:
    """Save the settings and log the changes; False, with the reasons in the form, if they are refused."""
    changes = form.changes()
    locked = request.merchant.settings.select_for_update()
    before = fields_of(locked.get(environment=request.environment), *changes)
    try:
        saved = update_settings(merchant=request.merchant, environment=request.environment, changes=changes)
        request.action.done(before=before, after=fields_of(saved, *changes))
    except DomainError as refusal:
        form.add_refusal(refusal)
        return False
    return True
