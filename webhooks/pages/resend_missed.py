"""The merchant's page that sends a webhook what it has missed."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

from django.contrib import messages
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from config import ids
from config.api.renderers import format_instant
from config.errors import DomainError
from config.pages.wording import whole
from merchants.access.log_in.sessions import MemberRequest, member_required
from merchants.audit.recording import fields_of
from merchants.roles import Action
from webhooks.events.catalogue import CATALOGUE
from webhooks.models import Delivery, Endpoint
from webhooks.pages.forms import RecoveryForm
from webhooks.resend_missed import RECOVERED_AT_ONCE, plan, recover
from webhooks.states import DeliveryStatus

SECTION = "dashboard_webhooks"


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.RECOVER_WEBHOOK)
def recover_endpoint(request: MemberRequest, webhook_id: str) -> HttpResponse:
    """Choose a moment, preview the events that would be sent, send them, and then show the progress."""
    own = Endpoint.objects.of(request.merchant, request.environment).existing()
    endpoint = get_object_or_404(own, pk=ids.WEBHOOK.decode(webhook_id))
    now = timezone.now()
    chosen = request.POST if request.method == "POST" else request.GET
    form = RecoveryForm(chosen if "since" in chosen else {"since": _suggested(endpoint, now)})
    context: dict[str, object] = {
        "section": SECTION,
        "endpoint": endpoint,
        "form": form,
        "moments": _moments(endpoint, now),
        "most": RECOVERED_AT_ONCE,
    }
    if form.is_valid():
        since, everything = form.cleaned_data["since"], form.cleaned_data["everything"]
        if request.method == "POST":
            try:
                number = recover(endpoint=endpoint, since=since, everything=everything)
            except DomainError as refusal:
                form.add_refusal(refusal)
            else:
                after = {"since": format_instant(since), "everything": everything, "deliveries": number}
                request.action.done(
                    endpoint,
                    before=fields_of(endpoint, "status"),
                    after={**fields_of(Endpoint.objects.get(pk=endpoint.pk), "status"), **after},
                )
                messages.success(request, _sent(number))
                return redirect(_address(endpoint, since))
        if not form.errors:
            found = plan(endpoint=endpoint, since=since, everything=everything)
            context |= {
                "plan": found,
                "rows": [(each, CATALOGUE.get(each.type, "")) for each in found.missed],
                "progress": _progress(endpoint, since),
                "everything": everything,
            }
    return render(request, "dashboard/webhooks/recover.html", context, status=400 if form.errors else 200)


def _suggested(endpoint: Endpoint, now: datetime) -> str:
    since = endpoint.disabled_at or endpoint.failing_since or now - timedelta(days=1)
    return _written(min(since, endpoint.failing_since or since))


def _moments(endpoint: Endpoint, now: datetime) -> list[tuple[str, str]]:
    """Moments to choose from: their names, and the addresses of the page about each."""
    named = [
        (_("When it was disabled"), endpoint.disabled_at),
        (_("When it began to fail"), endpoint.failing_since),
        (_("An hour ago"), now - timedelta(hours=1)),
        (_("A day ago"), now - timedelta(days=1)),
        (_("A week ago"), now - timedelta(days=7)),
    ]
    return [(name, _address(endpoint, since)) for name, since in named if since is not None]


def _address(endpoint: Endpoint, since: datetime) -> str:
    query = urlencode({"since": _written(since)})
    return f"{reverse('dashboard_recover_webhook', args=[endpoint.public_id])}?{query}"


def _written(since: datetime) -> str:
    """As the field of the form takes it, rounded down to its minutes."""
    return f"{since:%Y-%m-%dT%H:%M}"


def _progress(endpoint: Endpoint, since: datetime) -> dict[str, int]:
    """Numbers of the endpoint's deliveries since then: arrived, pending, and failed for good."""
    made = Delivery.objects.filter(endpoint=endpoint, pk__gte=ids.first_uuid_at(since))
    numbers = Counter(dict(made.order_by().values_list("status").annotate(number=Count("pk"))))
    arrived, waiting = numbers[DeliveryStatus.DELIVERED], numbers[DeliveryStatus.PENDING]
    total = numbers.total()
    return {"arrived": arrived, "waiting": waiting, "lost": total - arrived - waiting, "total": total}


def _sent(number: int) -> str:
    if not number:
        return _("There was nothing to send.")
    words = ngettext("%(number)s event is sent again.", "%(number)s events are sent again, the oldest first.", number)
    return words % {"number": whole(number)}
