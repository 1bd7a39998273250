"""The merchant's pages about webhooks: the endpoints, their secrets, and tests."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from config import ids
from config.environments import Environment
from config.errors import DomainError
from merchants.access.log_in.sessions import MemberRequest, member_required
from merchants.access.log_in.single_use import close_form, open_form
from merchants.audit.recording import fields_of
from merchants.roles import Action
from merchants.wording import exact
from webhooks.events.catalogue import CATALOGUE, EVERYTHING
from webhooks.models import Delivery, Endpoint, EndpointQuerySet, SigningSecret
from webhooks.pages.forms import EndpointForm
from webhooks.pages.presenters import (
    delivery_row,
    endpoint_badge,
    endpoint_reason,
    endpoint_rows,
    last_days,
    with_attempts,
)
from webhooks.services import (
    delete_endpoint,
    disable_endpoint,
    enable_endpoint,
    register_endpoint,
    rotate_account_secret,
    rotate_secret,
    send_test,
    update_endpoint,
)
from webhooks.states import DeliveryStatus, DisabledReason

SECTION = "dashboard_webhooks"
RECENT = 8
USED_FORM = _("This form was already submitted. A secret is shown only once, when it is created.")

ENDPOINT_FIELDS = ("url", "description", "events")
"""Fields of an endpoint in the audit log."""

ENDPOINT_COLUMNS = (
    {"label": _("Address")},
    {"label": _("Events")},
    {"label": _("Status")},
    {"label": _("Last delivery")},
    {"label": _("Last 24 hours")},
)
RECENT_COLUMNS = ({"label": _("Event")}, {"label": _("Status")}, {"label": _("Last answer")}, {"label": _("Created")})


@never_cache
@require_safe
@member_required
def list_endpoints(request: MemberRequest) -> HttpResponse:
    endpoints = list(_own(request).registered().order_by("-pk"))
    context = {
        "section": SECTION,
        "columns": ENDPOINT_COLUMNS,
        "rows": endpoint_rows(endpoints, timezone.now()),
        "can_listen_here": request.environment == Environment.SANDBOX and settings.WEBHOOK_ALLOW_LOOPBACK,
        "has_payment_addresses": _own(request).existing().filter(is_direct=True).exists(),
    }
    return render(request, "dashboard/webhooks/list.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.ADD_WEBHOOK)
def add_endpoint(request: MemberRequest) -> HttpResponse:
    """Makes an endpoint and shows its secret, once.

    Each form makes one endpoint: sending it again, by reloading the page, makes and shows nothing.
    """
    form = EndpointForm(request.POST or None, initial={"events": [EVERYTHING]}, environment=request.environment)
    if request.method == "POST" and form.is_valid():
        if not close_form(request):
            messages.warning(request, USED_FORM)
            request.action.refused()
            return redirect("dashboard_webhooks")
        try:
            endpoint, secret = register_endpoint(
                merchant=request.merchant, environment=request.environment, **form.cleaned_data
            )
        except DomainError as refusal:
            form.add_refusal(refusal)
        else:
            request.action.done(endpoint, after=fields_of(endpoint, *ENDPOINT_FIELDS))
            return _show_secret(request, secret, endpoint=endpoint, title=gettext("The webhook is ready"))
    context = {"section": SECTION, "form": form, "form_id": open_form(request)}
    return render(request, "dashboard/webhooks/add.html", context)


@never_cache
@require_safe
@member_required
def show_endpoint(request: MemberRequest, webhook_id: str) -> HttpResponse:
    endpoint = _endpoint(_own(request).existing(), webhook_id)
    now = timezone.now()
    newest = Delivery.objects.of(request.merchant, request.environment).filter(endpoint=endpoint).order_by("-pk")
    previous_until = endpoint.previous_secret_expires_at
    context = {
        "section": SECTION,
        "endpoint": endpoint,
        "status": endpoint_badge(endpoint),
        "why": endpoint_reason(endpoint),
        "facts": _facts(endpoint),
        "events": [(name, CATALOGUE[name]) for name in endpoint.events if name in CATALOGUE],
        "last_day": last_days([endpoint], now)[endpoint.pk],
        "columns": RECENT_COLUMNS,
        "rows": [delivery_row(delivery) for delivery in with_attempts(newest)[:RECENT]],
        "previous_until": previous_until if previous_until and previous_until > now else None,
    }
    return render(request, "dashboard/webhooks/endpoint.html", context)


def _facts(endpoint: Endpoint) -> list[tuple[str, str]]:
    return [
        (gettext("Description"), endpoint.description),
        (gettext("Id"), endpoint.public_id),
        (gettext("Created"), exact(endpoint.created_at)),
        (gettext("Disabled"), exact(endpoint.disabled_at)),
    ]


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.CHANGE_WEBHOOK)
def edit_endpoint(request: MemberRequest, webhook_id: str) -> HttpResponse:
    endpoint = _endpoint(_own(request).registered(), webhook_id)
    form = EndpointForm(
        request.POST or None, initial=EndpointForm.initial_of(endpoint), environment=request.environment
    )
    if request.method == "POST" and form.is_valid():
        try:
            changed = update_endpoint(endpoint=endpoint, changes=form.changes())
        except DomainError as refusal:
            form.add_refusal(refusal)
        else:
            before, after = (fields_of(each, *ENDPOINT_FIELDS) for each in (endpoint, changed))
            request.action.done(endpoint, before=before, after=after)
            messages.success(request, gettext("The changes are saved."))
            return redirect("dashboard_webhook", endpoint.public_id)
    context = {"section": SECTION, "form": form, "endpoint": endpoint}
    return render(request, "dashboard/webhooks/edit.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.ROTATE_WEBHOOK_SECRET)
def rotate(request: MemberRequest, webhook_id: str) -> HttpResponse:
    """As when an endpoint is added, each form makes one secret."""
    endpoint = _endpoint(_own(request).registered(), webhook_id)
    if request.method == "POST":
        if not close_form(request):
            messages.warning(request, USED_FORM)
            request.action.refused()
            return redirect("dashboard_webhook", endpoint.public_id)
        endpoint, secret = rotate_secret(endpoint=endpoint)
        request.action.done(endpoint)
        until = endpoint.previous_secret_expires_at
        return _show_secret(
            request, secret, endpoint=endpoint, title=gettext("The new secret is ready"), previous_until=until
        )
    context = {"section": SECTION, "endpoint": endpoint, "form_id": open_form(request)}
    return render(request, "dashboard/webhooks/rotate.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.ROTATE_ACCOUNT_SECRET)
def rotate_for_payments(request: MemberRequest) -> HttpResponse:
    """Rotates the account's secret, which signs deliveries to the webhookUrl of payments."""
    if request.method == "POST":
        if not close_form(request):
            messages.warning(request, USED_FORM)
            request.action.refused()
            return redirect("dashboard_webhooks")
        secret, until = rotate_account_secret(merchant=request.merchant, environment=request.environment)
        request.action.done()
        return _show_secret(request, secret, title=gettext("The new secret is ready"), previous_until=until)
    held = SigningSecret.objects.filter(merchant=request.merchant, environment=request.environment).exists()
    context = {"section": SECTION, "is_first": not held, "form_id": open_form(request)}
    return render(request, "dashboard/webhooks/rotate.html", context)


def _show_secret(
    request: MemberRequest,
    secret: str,
    *,
    title: str,
    endpoint: Endpoint | None = None,
    previous_until: datetime | None = None,
) -> HttpResponse:
    context = {
        "section": SECTION,
        "secret": secret,
        "title": title,
        "endpoint": endpoint,
        "previous_until": previous_until,
    }
    return render(request, "dashboard/webhooks/secret.html", context)


@never_cache
@require_POST
@member_required(action=Action.TEST_WEBHOOK)
def test(request: MemberRequest, webhook_id: str) -> HttpResponse:
    endpoint = _endpoint(_own(request).existing(), webhook_id)
    try:
        delivery = send_test(endpoint=endpoint)
    except DomainError as refusal:
        messages.error(request, refusal.message)
        request.action.refused()
        return redirect("dashboard_webhook", endpoint.public_id)
    request.action.done(endpoint, after={"delivery": delivery.public_id})
    messages.success(request, gettext("A test is on its way."))
    return redirect("dashboard_delivery", delivery.public_id)


@never_cache
@require_POST
@member_required(action=Action.ENABLE_WEBHOOK)
def enable(request: MemberRequest, webhook_id: str) -> HttpResponse:
    endpoint = _endpoint(_own(request).existing(), webhook_id)
    enabled = enable_endpoint(endpoint=endpoint)
    request.action.done(endpoint, before=fields_of(endpoint, "status"), after=fields_of(enabled, "status"))
    messages.success(request, gettext("The webhook is enabled. It receives events from now on."))
    return redirect("dashboard_webhook", endpoint.public_id)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.DISABLE_WEBHOOK)
def disable(request: MemberRequest, webhook_id: str) -> HttpResponse:
    """Show a confirmation first, because pending deliveries are discarded."""
    endpoint = _endpoint(_own(request).existing(), webhook_id)
    if request.method == "POST":
        disabled = disable_endpoint(endpoint=endpoint, reason=DisabledReason.MERCHANT)
        request.action.done(endpoint, before=fields_of(endpoint, "status"), after=fields_of(disabled, "status"))
        messages.success(request, gettext("The webhook is disabled. Nothing is sent to it any more."))
        return redirect("dashboard_webhook", endpoint.public_id)
    context = {"section": SECTION, "endpoint": endpoint, "waiting": _waiting(endpoint)}
    return render(request, "dashboard/webhooks/disable.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.DELETE_WEBHOOK)
def delete(request: MemberRequest, webhook_id: str) -> HttpResponse:
    endpoint = _endpoint(_own(request).registered(), webhook_id)
    if request.method == "POST":
        before = fields_of(endpoint, *ENDPOINT_FIELDS)
        delete_endpoint(endpoint=endpoint)
        request.action.done(endpoint, before=before)
        messages.success(request, gettext("The webhook is deleted. Its deliveries can still be looked up."))
        return redirect("dashboard_webhooks")
    context = {"section": SECTION, "endpoint": endpoint, "waiting": _waiting(endpoint)}
    return render(request, "dashboard/webhooks/delete.html", context)


def _waiting(endpoint: Endpoint) -> int:
    return Delivery.objects.filter(endpoint=endpoint, status=DeliveryStatus.PENDING).count()


def _own(request: MemberRequest) -> EndpointQuerySet:
    return Endpoint.objects.of(request.merchant, request.environment)


def _endpoint(among: EndpointQuerySet, webhook_id: str) -> Endpoint:
    """The endpoint with this id in `among`, of the request's merchant; Http404 otherwise."""
    return get_object_or_404(among, pk=ids.WEBHOOK.decode(webhook_id))
