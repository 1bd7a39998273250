"""Lets nobody into the operators' admin whom the proxy in front has not proven to be that very person."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse

from merchants.access.addresses import is_from_trusted_proxy


class OperatorProofMiddleware:
    """While OPERATOR_PROOF_HEADER is set, the admin is for those of whom a trusted proxy says, by that header, the
    e-mail address that they are logged in by. Anybody else gets 403."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        header: str = settings.OPERATOR_PROOF_HEADER
        if header and request.path.startswith(reverse("admin:index")) and request.user.is_authenticated:
            said = request.headers.get(header, "").strip() if is_from_trusted_proxy(request) else ""
            if said.casefold() != request.user.get_username().casefold():
                raise PermissionDenied
        return self.get_response(request)
