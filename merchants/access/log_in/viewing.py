"""An operator looks at a merchant's dashboard as one of its viewers: for an hour at most, in the log-in session, and
changes nothing meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast

from allauth.account.adapter import get_adapter
from allauth.account.internal.flows.login import get_authentication_records
from allauth.account.internal.flows.reauthentication import suspend_request
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from config.database.previews import is_preview
from config.environments import Environment
from merchants.access.log_in.operator_proof import lacks_second_factor
from merchants.models import Member, Merchant, User
from merchants.roles import Role

PERMISSION: Final = "merchants.view_as_merchant"
LONGEST: Final = timedelta(hours=1)
_KEY: Final = "viewing"
"""Key in the session of the merchant's public id, the environment and the end in seconds since 1970."""

_WAYS_OUT: Final = ("stop_viewing", "logout", "admin:logout")
"""Routes whose POST ends the viewing."""
_OTHER_PAGES: Final = ("/admin/", "/docs/", "/health/")
"""Beginnings of paths that can be read meanwhile, besides members' pages."""


@dataclass(frozen=True, slots=True)
class Viewing:
    """The dashboard that an operator looks at; `viewing_of` reads it from a request."""

    merchant: Merchant
    environment: Environment
    until: datetime

    def member(self, operator: User) -> Member:
        """The operator as a viewer of the merchant: a member that is never stored."""
        return Member(merchant=self.merchant, user=operator, role=Role.VIEWER)


def viewing_of(request: HttpRequest) -> Viewing | None:
    """The dashboard that the operator of this request looks at; None for everybody else."""
    return getattr(request, "viewing", None)


def begin(request: HttpRequest, merchant: Merchant, environment: Environment) -> None:
    """Store the viewing in the session. Only `oversight.begin_viewing` calls it: it logs it and mails the owners."""
    if is_preview():
        raise RuntimeError("a preview rolls back what is logged and mailed, and not the session")
    until = int(time.time() + LONGEST.total_seconds())
    request.session[_KEY] = [merchant.public_id, environment.value, until]


def end(request: HttpRequest) -> None:
    request.session.pop(_KEY, None)


def ask_for_second_factor(request: HttpRequest) -> HttpResponse | None:
    """A redirect to where the second factor is proven, and back with the form; None where it was within STEP_UP_AFTER,
    or where the proxy in front or the installation asks for none."""
    if settings.OPERATOR_PROOF_HEADER or not settings.OPERATOR_SECOND_FACTOR:
        return None
    records = get_authentication_records(request, request.user)
    moments = [int(each["at"]) for each in records if each.get("method") == "mfa"]
    if time.time() - max(moments, default=0) < settings.STEP_UP_AFTER.total_seconds():
        return None
    ways = [each for each in get_adapter().get_reauthentication_methods(request.user) if each["id"] != "reauthenticate"]
    if not ways:
        raise PermissionDenied
    return cast("HttpResponse", suspend_request(request, ways[0]["url"]))


class ViewingMiddleware:
    """While an operator looks at a merchant's dashboard, refuses with 403 every request that is not GET or HEAD, and
    every page but those of members and of the admin. It comes after the session's limits."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if settings.SESSION_COOKIE_NAME in request.COOKIES and _KEY in request.session:
            cast(Any, request).viewing = _current(request)
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, *arguments: Any) -> None:
        if viewing_of(request) is None:
            return
        match = request.resolver_match
        if match is not None and match.view_name in _WAYS_OUT:
            return
        is_open = getattr(view, "is_for_members", False) or request.path_info.startswith(_OTHER_PAGES)
        if request.method not in ("GET", "HEAD") or not is_open:
            raise PermissionDenied


def _current(request: HttpRequest) -> Viewing | None:
    """The viewing in the session; None, and forgotten, once it is over or the operator may no longer look."""
    public_id, environment, until = request.session[_KEY]
    user = request.user
    may_look = isinstance(user, User) and user.is_staff and user.has_perm(PERMISSION) and not lacks_second_factor(user)
    is_over = time.time() >= until or not may_look
    key = None if is_over else Merchant.public_ids.decode(public_id)
    merchant = Merchant.objects.filter(pk=key).first() if key else None
    if merchant is None:
        end(request)
        return None
    return Viewing(merchant, Environment(environment), datetime.fromtimestamp(until, UTC))
