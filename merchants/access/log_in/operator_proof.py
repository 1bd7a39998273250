"""Lets nobody into the operators' admin without proof of identity, by a second factor or by the proxy in front, and
requires it again before a change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from allauth.account.adapter import get_adapter
from allauth.account.internal.flows.reauthentication import suspend_request
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from merchants.access.addresses import is_from_trusted_proxy
from merchants.access.log_in.step_up import confirmed_recently

_ADMIN = "/admin/"
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")

AFTER_FACTOR: Final = "after_factor"
"""Key in the session of the page of the admin that an operator opened without having a second factor."""


class OperatorProofMiddleware:
    """While OPERATOR_PROOF_HEADER is set, the admin is for those whose log-in address a trusted proxy names in that
    header. Anybody else gets 403. Without it, OPERATOR_SECOND_FACTOR sends operators without a second factor to their
    account, to add one. Every change requires a step-up, as in `step_up`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *view: Any) -> HttpResponse | None:
        if not request.path_info.startswith(_ADMIN) or not request.user.is_authenticated:
            return None
        header: str = settings.OPERATOR_PROOF_HEADER
        if header:
            proven = request.headers.get(header, "").strip() if is_from_trusted_proxy(request) else ""
            if proven.casefold() != request.user.get_username().casefold():
                raise PermissionDenied
        elif settings.OPERATOR_SECOND_FACTOR and request.user.is_staff:
            if lacks_second_factor(request.user):
                return _lead_to_second_factor(request)
            request.session.pop(AFTER_FACTOR, None)
        is_change = request.method not in _SAFE_METHODS and request.path != reverse("admin:logout")
        if is_change and not confirmed_recently(request):
            methods = get_adapter().get_reauthentication_methods(request.user)
            reply: HttpResponse = suspend_request(request, methods[0]["url"] if methods else reverse("login"))
            return reply
        return None


def _lead_to_second_factor(request: HttpRequest) -> HttpResponse:
    """To the account, which leads back to the page once there is a factor; a form that was sent is dropped."""
    request.session[AFTER_FACTOR] = request.get_full_path() if request.method in _SAFE_METHODS else _ADMIN
    messages.warning(request, "Operators need a second factor: add an app or a passkey, then go on to the admin.")
    return redirect("account")


def lacks_second_factor(operator: AbstractBaseUser) -> bool:
    """True of an operator to whom the admin is closed until they add a second factor."""
    if settings.OPERATOR_PROOF_HEADER or not settings.OPERATOR_SECOND_FACTOR:
        return False
    factors = Authenticator.objects.filter(user=operator.pk)
    return not factors.exclude(type=Authenticator.Type.RECOVERY_CODES).exists()
