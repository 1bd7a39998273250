"""The merchant's pages about deliveries: what was sent where, and what came back."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from config import ids
from config.api.renderers import render_json
from config.database.replica import reads_from_replica
from config.pages.wording import whole
from merchants.access.log_in.sessions import MemberRequest, member_required
from merchants.pages import curl
from merchants.pages.dashboard import reporting
from merchants.pages.listing import BY_STATUS_AND_DAY, ApiList, list_context
from merchants.roles import Action
from merchants.wording import exact
from webhooks.events.catalogue import CATALOGUE
from webhooks.models import Delivery, DeliveryQuerySet, Endpoint
from webhooks.pages.forms import DeliveryFilterForm
from webhooks.pages.presenters import OBJECT_KINDS, AttemptRow, delivery_badge, delivery_row, object_id, with_attempts
from webhooks.records import event_record
from webhooks.sending.preparing import USER_AGENT
from webhooks.services import redeliver
from webhooks.states import DeliveryStatus, EndpointStatus

SECTION = "dashboard_webhooks"

DELIVERY_COLUMNS = (
    {"label": _("Event")},
    {"label": _("Status")},
    {"label": _("About")},
    {"label": _("Created")},
    {"label": _("Endpoint")},
    {"label": _("Last answer")},
)


# --- the list ----------------------------------------------------------------------------------------


@never_cache
@require_safe
@member_required
@reads_from_replica
def list_deliveries(request: MemberRequest) -> HttpResponse:
    form = DeliveryFilterForm(request.GET, endpoints=_endpoints_to_choose(request))
    context: dict[str, object] = {"section": SECTION, "form": form, "columns": DELIVERY_COLUMNS, "rows": []}
    if form.is_valid():
        named = _searched(form.cleaned_data["q"]).delivery
        if named and Delivery.objects.of(request.merchant, request.environment).filter(pk=named).exists():
            return redirect("dashboard_delivery", ids.DELIVERY.encode(named))
        page = _page(request, form)
        count = len(page["rows"])
        is_live = not request.GET.get("before") and not form.cleaned_data["end"]
        context |= {
            **page,
            "words": ngettext("%d delivery, newest first", "%d deliveries, newest first", count) % count,
            "meaning": CATALOGUE.get(form.cleaned_data["type"], ""),
            "live_url": f"{reverse('dashboard_delivery_rows')}?{request.GET.urlencode()}" if is_live else "",
        }
    return render(request, "dashboard/webhooks/deliveries.html", context)


@never_cache
@require_safe
@member_required
@reads_from_replica
def show_rows(request: MemberRequest) -> HttpResponse:
    """The rows of the list alone, for a page that follows it; none when the filters make no sense."""
    form = DeliveryFilterForm(request.GET, endpoints=_endpoints_to_choose(request))
    context = {"rows": _page(request, form)["rows"] if form.is_valid() else []}
    return render(request, "dashboard/webhooks/delivery_rows.html", context)


def _page(request: MemberRequest, form: DeliveryFilterForm) -> dict[str, Any]:
    """A page of the deliveries that the filters of a valid form leave."""
    chosen = form.cleaned_data
    own = Delivery.objects.of(request.merchant, request.environment)
    matching = with_attempts(own.filter(_searched(chosen["q"]).condition))
    if chosen["endpoint"]:
        matching = matching.filter(endpoint=ids.WEBHOOK.decode(chosen["endpoint"]))
    if chosen["type"]:
        # Of the same merchant, with which the index of rare types begins.
        of_merchant = {"event__merchant": request.merchant, "event__environment": request.environment}
        matching = matching.filter(event__type=chosen["type"], **of_merchant)
    return list_context(
        request,
        form,
        matching,
        kind=ids.DELIVERY,
        view="dashboard_deliveries",
        row=delivery_row,
        api=ApiList("deliveries", {**BY_STATUS_AND_DAY, "endpoint": "endpoint"}),
    )


def _endpoints_to_choose(request: MemberRequest) -> list[Endpoint]:
    """Registered endpoints, and the selected one, which may be deleted or belong to a payment."""
    own = Endpoint.objects.of(request.merchant, request.environment)
    chosen = list(own.registered().order_by("-pk"))
    selected = ids.WEBHOOK.decode(request.GET.get("endpoint", ""))
    if selected and selected not in {endpoint.pk for endpoint in chosen}:
        chosen += own.filter(pk=selected)
    return chosen


@dataclass(frozen=True)
class Searched:
    """The record that an id in the search field names."""

    condition: Q
    delivery: uuid.UUID | None = None


def _searched(text: str) -> Searched:
    """A delivery, an event, or any record that events are about. Anything else matches nothing."""
    if not text:
        return Searched(Q())
    if key := ids.DELIVERY.decode(text):
        return Searched(Q(pk=key), key)
    if key := ids.EVENT.decode(text):
        return Searched(Q(event=key))
    keys = [key for kind in OBJECT_KINDS.values() if (key := kind.decode(text))]
    return Searched(Q(event__object_id__in=keys))


# --- one delivery ------------------------------------------------------------------------------------


@never_cache
@require_safe
@member_required
def show_delivery(request: MemberRequest, delivery_id: str) -> HttpResponse:
    delivery = _delivery(Delivery.objects.of(request.merchant, request.environment).to_show(), delivery_id)
    attempts = [AttemptRow(attempt) for attempt in delivery.attempts.all()][::-1]
    record = event_record(delivery.event)
    sent = render_json(record)
    context = {
        "section": SECTION,
        "delivery": delivery,
        "type_in_parts": delivery.event.type.split("."),  # a long name has places to break
        "endpoint": delivery.endpoint,
        "curl": curl.reading(delivery.environment, f"deliveries/{delivery.public_id}"),
        "status": delivery_badge(delivery),
        "facts": _facts(delivery),
        "object_id": object_id(delivery),
        "is_about_payment": delivery.event.type.startswith("payment."),
        "attempts": attempts,
        "forgotten": delivery.attempt_count - len(attempts),
        "next": _next_attempt(delivery, timezone.now()),
        "headers": _headers(delivery, attempts, len(sent)),
        "body": render_json(record, indented=True).decode(),
        "sent": sent.decode(),
        "size": whole(len(sent)),
        "is_pending": delivery.status == DeliveryStatus.PENDING,
        "can_be_sent": not delivery.endpoint.deleted_at and delivery.endpoint.status == EndpointStatus.ENABLED,
    }
    return render(request, "dashboard/webhooks/delivery.html", context)


def _facts(delivery: Delivery) -> list[tuple[str, str]]:
    return [
        (gettext("Event"), delivery.event.public_id),
        (gettext("A sample of"), delivery.event.sample_of),
        (gettext("Happened"), exact(delivery.event.created_at)),
        (gettext("Version"), str(delivery.event.version)),
        (gettext("Delivered"), exact(delivery.delivered_at)),
        (gettext("Attempts"), str(delivery.attempt_count)),
    ]


def _next_attempt(delivery: Delivery, now: datetime) -> str:
    due = delivery.next_attempt_at
    if due is None:
        return ""
    if due <= now:
        return gettext("It is due now, or on its way.")
    number, last = delivery.attempt_count + 1, delivery.attempt_count + delivery.attempts_left
    words = gettext("Attempt %(number)s of %(last)s is due at %(moment)s, in %(span)s.")
    span = _span((due - now).total_seconds())
    return words % {"number": number, "last": last, "moment": exact(due), "span": span}


def _span(seconds: float) -> str:
    if seconds >= 3600:
        hours = round(seconds / 3600)
        return ngettext("%d hour", "%d hours", hours) % hours
    if seconds >= 60:
        minutes = round(seconds / 60)
        return ngettext("%d minute", "%d minutes", minutes) % minutes
    left = max(1, round(seconds))
    return ngettext("%d second", "%d seconds", left) % left


def _headers(delivery: Delivery, attempts: list[AttemptRow], size: int) -> list[tuple[str, str]]:
    """The headers of the newest attempt. Its signature is not stored, so it is not shown."""
    newest = attempts[0].attempt if attempts else None
    return [
        ("Content-Type", "application/json"),
        ("Content-Length", str(size)),
        ("User-Agent", USER_AGENT),
        ("webhook-id", delivery.event.public_id),
        (
            "webhook-timestamp",
            str(int(newest.started_at.timestamp())) if newest else gettext("the second of the attempt"),
        ),
        ("webhook-signature", gettext("v1,… created for each attempt, and not kept")),
    ]


@never_cache
@require_POST
@member_required(action=Action.SEND_DELIVERY_AGAIN)
def send_again(request: MemberRequest, delivery_id: str) -> HttpResponse:
    delivery = _delivery(Delivery.objects.of(request.merchant, request.environment), delivery_id)
    with reporting(request, gettext("It is sent again.")):
        redeliver(delivery=delivery)
    return redirect("dashboard_delivery", delivery.public_id)


def _delivery(among: DeliveryQuerySet, delivery_id: str) -> Delivery:
    return get_object_or_404(among, pk=ids.DELIVERY.decode(delivery_id))
