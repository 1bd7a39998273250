"""The page on which a member gives an application a key pair and a webhook, and where its server fetches them."""

from __future__ import annotations

from functools import partial

from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from rest_framework.exceptions import ValidationError
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from config.api.exceptions import fault_of
from config.api.fields import read_body
from config.errors import DomainError
from merchants.access import attempts
from merchants.access.addresses import client_address, guesser
from merchants.access.errors import TooManyRequests
from merchants.access.log_in.own_actions import origin_of
from merchants.access.log_in.sessions import MemberRequest, member_required
from merchants.access.scopes import DESCRIPTIONS, Scope
from merchants.audit.recording import fields_of, log_action
from merchants.pages.keys import KEY_FIELDS
from merchants.pages.keys import SECTION as KEYS
from merchants.roles import Action
from webhooks.connections.codes import agree, check_may_agree, exchange
from webhooks.connections.terms import read_terms
from webhooks.pages.endpoints import ENDPOINT_FIELDS
from webhooks.serializers import ExchangeSerializer


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.CONNECT)
def connect(request: MemberRequest) -> HttpResponse:
    """Shows who asks for what, and sends the member back to the application with a code.

    Nobody is sent anywhere before they have read where: what is wrong with the request is said here.
    """
    context: dict[str, object] = {"section": KEYS, "here": request.get_full_path()}
    if not request.GET:
        return render(request, "dashboard/connect/about.html", context)
    try:
        terms = read_terms(request.GET.dict(), request.environment)
        check_may_agree(request.member, terms)
    except (ValidationError, DomainError) as error:
        fault = fault_of(error)
        context["problems"] = fault.errors or [fault]
        return render(request, "dashboard/connect/about.html", context, status=400)
    context["terms"] = terms
    if request.method == "POST":
        code = agree(member=request.member, environment=request.environment, terms=terms)
        asked = {"application": terms.name, "site": terms.site, "scopes": terms.scopes, "webhook": terms.webhook_url}
        request.action.done(after=asked)
        context["way_back"] = way_back = terms.way_back(code=code)
        # A redirect after a form is refused by browsers where `form-action` names no other site.
        return HttpResponse(
            render(request, "dashboard/connect/agreed.html", context).content, headers={"Refresh": f"0; url={way_back}"}
        )
    context["permits"] = [DESCRIPTIONS[Scope(scope)] for scope in terms.scopes]
    context["refusal"] = terms.way_back(error="access_denied")
    return render(request, "dashboard/connect/ask.html", context)


class Exchange(APIView):
    """Gives the application its keys for a code and the verifier whose SHA-256 it sent the member with.

    It needs no key and is no operation of the API: the caller does not know yet in which environment it will be.
    """

    permission_classes = (AllowAny,)
    schema = None

    def post(self, request: Request) -> Response:
        subject = f"connect from {guesser(client_address(request._request))}"
        if wait := attempts.take_attempt(subject, attempts.CONNECTIONS_FROM_ADDRESS, now=timezone.now()):
            raise TooManyRequests(retry_after_seconds=wait)
        body = read_body(ExchangeSerializer, request).validated_data
        with transaction.atomic():
            made = exchange(code=body["code"], verifier=body["codeVerifier"])
            key, endpoint = made.issued.key, made.endpoint
            origin = origin_of(request._request)
            log = partial(log_action, member=made.member, environment=key.environment, origin=origin)
            log(Action.MAKE_KEY, record=key.public_id, after=fields_of(key, *KEY_FIELDS))
            if endpoint:
                log(Action.ADD_WEBHOOK, record=endpoint.public_id, after=fields_of(endpoint, *ENDPOINT_FIELDS))
        attempts.give_back(subject)
        return Response(
            {
                "environment": key.environment,
                "publicKey": key.public_key,
                "secretKey": made.issued.secret,
                "scopes": key.scopes,
                "webhook": endpoint and {"id": endpoint.public_id, "secret": made.endpoint_secret},
            },
            headers={"Cache-Control": "no-store"},
        )
