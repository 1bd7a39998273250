"""The bench for developers: samples of events as they are signed and sent, and what is wrong with a signature."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from config import ids
from config.api.renderers import render_json
from config.errors import DomainError
from config.pages.wording import whole
from merchants.access.log_in.sessions import MemberRequest, member_required
from merchants.pages.programs import LANGUAGES, program
from merchants.roles import Action, Permission
from webhooks.endpoints.secrets import live_secrets
from webhooks.endpoints.signing import signed_headers
from webhooks.endpoints.verifying import Finding, examine
from webhooks.events.catalogue import CATALOGUE, WEBHOOK_TEST
from webhooks.models import Endpoint, Event
from webhooks.pages.forms import BenchForm, SignatureForm
from webhooks.records import event_record
from webhooks.sending.preparing import USER_AGENT
from webhooks.services import build_test, send_test

SECTION = "dashboard_developers"


@never_cache
@require_safe
@member_required(permission=Permission.MANAGE_WEBHOOKS)
def show_bench(request: MemberRequest) -> HttpResponse:
    return _bench(request, _endpoints(request))


@never_cache
@require_POST
@member_required(action=Action.TEST_WEBHOOK)
def send_sample_event(request: MemberRequest) -> HttpResponse:
    """Sends what the bench shows, to the one endpoint that is chosen; its delivery has the reply."""
    endpoints = _endpoints(request)
    form = BenchForm(request.POST, endpoints=endpoints, environment=request.environment)
    if not form.is_valid():
        messages.error(request, _("Choose one of your webhooks and an event."))
        request.action.refused()
        return redirect("dashboard_webhook_bench")
    endpoint, type = _chosen(form, endpoints), form.cleaned_data["type"]
    try:
        delivery = send_test(endpoint=endpoint, sample_of=_sample(type))
    except DomainError as refusal:
        messages.error(request, refusal.message)
        request.action.refused()
        return redirect("dashboard_webhook_bench")
    request.action.done(endpoint, after={"event": type, "delivery": delivery.public_id})
    messages.success(request, _("It is on its way. The reply shows up here."))
    return redirect("dashboard_delivery", delivery.public_id)


@never_cache
@sensitive_post_parameters("signature", "body")
@require_POST
@member_required(permission=Permission.MANAGE_WEBHOOKS, only_session=True)
def check_signature(request: MemberRequest) -> HttpResponse:
    """Show whether a pasted request verifies. It changes nothing: a body is too long for an address."""
    endpoints = _endpoints(request)
    form = SignatureForm(request.POST, endpoints=endpoints)
    finding = _finding(request, form, endpoints) if form.is_valid() else None
    return _bench(request, endpoints, signature_form=form, finding=finding)


def _finding(request: MemberRequest, form: SignatureForm, endpoints: list[Endpoint]) -> Finding:
    endpoint, pasted, now = _chosen(form, endpoints), form.pasted(), timezone.now()
    event_id = ids.EVENT.decode(pasted.message_id)
    event = Event.objects.of(request.merchant, request.environment).filter(pk=event_id).first() if event_id else None
    return examine(
        pasted,
        secrets=live_secrets(endpoint, now),
        others={each.url: live_secrets(each, now) for each in endpoints if each != endpoint},
        sent=render_json(event_record(event)) if event else None,
        now=now.timestamp(),
    )


def _bench(request: MemberRequest, endpoints: list[Endpoint], **more: Any) -> HttpResponse:
    endpoint, type = (endpoints[0] if endpoints else None), WEBHOOK_TEST
    chosen = {"endpoint": endpoint.public_id if endpoint else "", "type": type} | request.GET.dict()
    form = BenchForm(chosen, endpoints=endpoints, environment=request.environment)
    if form.is_valid():
        endpoint, type = _chosen(form, endpoints), form.cleaned_data["type"]
    context = {
        "section": SECTION,
        "form": form,
        "endpoint": endpoint,
        "type": type,
        "words": CATALOGUE[type],
        "is_sample": bool(_sample(type)),
        "shown": _shown(endpoint, type) if endpoint else None,
        "programs": [(language.name, program(language, "receive_webhook")) for language in LANGUAGES],
        "signature_form": SignatureForm(endpoints=endpoints),
        **more,
    }
    return render(request, "dashboard/developers/bench.html", context)


def _shown(endpoint: Endpoint, type: str) -> dict[str, Any]:
    """The request as it would be signed and sent now."""
    now = timezone.now()
    event = build_test(endpoint, _sample(type), version=1)
    record = event_record(event)
    sent = render_json(record)
    signed = signed_headers(
        live_secrets(endpoint, now), message_id=event.public_id, timestamp=int(now.timestamp()), body=sent
    )
    headers = {"Content-Type": "application/json", "User-Agent": USER_AGENT, **signed, "Content-Length": str(len(sent))}
    return {
        "headers": list(headers.items()),
        "body": render_json(record, indented=True).decode(),
        "sent": sent.decode(),
        "size": whole(len(sent)),
    }


def _sample(type: str) -> str:
    return "" if type == WEBHOOK_TEST else type


def _endpoints(request: MemberRequest) -> list[Endpoint]:
    return list(Endpoint.objects.of(request.merchant, request.environment).registered().order_by("-pk"))


def _chosen(form: BenchForm | SignatureForm, endpoints: list[Endpoint]) -> Endpoint:
    return next(each for each in endpoints if each.public_id == form.cleaned_data["endpoint"])
