"""People in the browser: logging in, how long that lasts, and for which merchant and environment they act."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec, cast, overload

from django.conf import settings
from django.contrib.auth import authenticate, login, logout
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone

from config.environments import Environment
from config.errors import DomainError
from merchants.access import attempts
from merchants.access.addresses import client_address, guesser
from merchants.access.devices import device_of
from merchants.access.errors import TooManyRequests
from merchants.models import Member, Merchant, Role, User

_LOGGED_IN_AT: Final = "logged_in_at"
_USED_AT: Final = "used_at"
_ENVIRONMENT: Final = "environment"
_MERCHANT: Final = "merchant"
_USE_IS_NOTED_EVERY_SECONDS: Final = 60

_RANKS: Final = {Role.VIEWER: 0, Role.DEVELOPER: 1, Role.OWNER: 2}


class LogInRefused(DomainError):
    """One answer for an unknown address, a wrong password and an account that was turned off."""

    code = "log_in_refused"
    status = 401
    message = "The e-mail address or the password is not right."


class TooManyLogIns(TooManyRequests):
    code = "too_many_log_ins"
    message = "Too many attempts to log in."


class MemberRequest(HttpRequest):
    """A request that `member_required` let through."""

    user: User
    member: Member
    merchant: Merchant
    environment: Environment


# --- logging in and out ------------------------------------------------------------------------------


def log_in(request: HttpRequest, *, email: str, password: str) -> User:
    """Starts a new session under a new key; LogInRefused or TooManyLogIns otherwise.

    Attempts are counted before the password is looked at, so that guesses in parallel count too. Further guesses
    have to wait longer and longer, but an account is never locked for good. A device from which the account has
    logged in before has a count of its own, so that what strangers guess elsewhere does not keep its owner out.
    """
    if "\0" in email + password:  # no account has such, and PostgreSQL could not look for it
        raise LogInRefused
    account = account_name(email)
    device = device_of(request, account)
    address = None if device else f"log in from {guesser(client_address(request))}"
    counted = f"log in to {account}" if device is None else f"log in on {device}"
    now = timezone.now()
    wait = attempts.take_attempt(address, attempts.LOG_INS_FROM_ADDRESS, now=now) if address else 0
    wait = wait or attempts.take_attempt(counted, attempts.LOG_INS_TO_ACCOUNT, now=now)
    if wait:
        raise TooManyLogIns(retry_after_seconds=wait)
    user = authenticate(request, username=email.strip(), password=password)
    if user is None:
        raise LogInRefused
    attempts.forget(counted)
    if address:
        attempts.give_back(address)
    login(request, user)
    request.session[_LOGGED_IN_AT] = request.session[_USED_AT] = int(time.time())
    return user


def account_name(email: str) -> str:
    """What attempts to log in are counted under, however the address is written."""
    return email.strip().lower()[:254]


def log_out(request: HttpRequest) -> None:
    logout(request)


def operators_log_in(request: HttpRequest) -> HttpResponse:
    """In place of the admin's own form, which would count no attempts: everybody logs in at the same door."""
    if request.user.is_authenticated:
        raise PermissionDenied
    return redirect_to_login(request.GET.get("next", "/admin/"))


class SessionLimitsMiddleware:
    """Ends a session that was not used for SESSION_IDLE, or is older than SESSION_LIFETIME, for every page alike.

    Stands after AuthenticationMiddleware. Without a session cookie, as on the API, it costs nothing.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if settings.SESSION_COOKIE_NAME in request.COOKIES:
            self._limit(request)
        return self.get_response(request)

    def _limit(self, request: HttpRequest) -> None:
        if "_auth_user_id" not in request.session:
            return
        now = int(time.time())
        # A session begun in another way than by `log_in` counts from when it is first seen.
        logged_in_at = request.session.setdefault(_LOGGED_IN_AT, now)
        used_at = request.session.setdefault(_USED_AT, now)
        is_too_old = now - logged_in_at >= settings.SESSION_LIFETIME.total_seconds()
        if is_too_old or now - used_at >= settings.SESSION_IDLE.total_seconds():
            logout(request)
        elif now - used_at >= _USE_IS_NOTED_EVERY_SECONDS:
            request.session[_USED_AT] = now


# --- acting for a merchant ---------------------------------------------------------------------------

_P = ParamSpec("_P")
_MemberView = Callable[Concatenate[MemberRequest, _P], HttpResponse]
_View = Callable[Concatenate[HttpRequest, _P], HttpResponse]


@overload
def member_required(view: _MemberView[_P], /) -> _View[_P]: ...
@overload
def member_required(*, role: Role) -> Callable[[_MemberView[_P]], _View[_P]]: ...
def member_required(view: Any = None, /, *, role: Role = Role.VIEWER) -> Any:
    """Lets members through whose role is at least `role`, with `request.member`, `.merchant` and `.environment` set.

    Strangers are sent to log in; people who are no member of any merchant, or of too low a role, are refused.
    """

    def decorate(inner: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        @wraps(inner)
        def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not request.user.is_authenticated:
                return redirect_to_login(request.get_full_path())
            known = cast("MemberRequest", request)
            member = _member_of(known)
            if member is None or _RANKS[Role(member.role)] < _RANKS[role]:
                raise PermissionDenied
            known.member, known.merchant = member, member.merchant
            known.environment = environment_of(known)
            return inner(known, *args, **kwargs)

        return wrapper

    return decorate if view is None else decorate(view)


def environment_of(request: HttpRequest) -> Environment:
    """The environment in view; the sandbox until somebody chooses."""
    return Environment(request.session.get(_ENVIRONMENT, Environment.SANDBOX))


def choose_environment(request: HttpRequest, environment: Environment) -> None:
    request.session[_ENVIRONMENT] = environment.value


def choose_merchant(request: MemberRequest, merchant: Merchant) -> None:
    """For people who are members of several; PermissionDenied when they are none of this one's."""
    if not Member.objects.filter(user=request.user, merchant=merchant).exists():
        raise PermissionDenied
    request.session[_MERCHANT] = merchant.public_id


def _member_of(request: MemberRequest) -> Member | None:
    """The membership in use: of the chosen merchant, else of the first one joined."""
    memberships = list(Member.objects.filter(user=request.user).select_related("merchant").order_by("id"))
    chosen = request.session.get(_MERCHANT)
    for membership in memberships:
        if membership.merchant.public_id == chosen:
            return membership
    return memberships[0] if memberships else None
