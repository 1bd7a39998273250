"""Log-in sessions: logging in, how long it lasts, and the merchant and environment that a person acts for."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec, cast, overload

from allauth.account.internal.flows.login import perform_password_login
from allauth.account.models import Login
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import authenticate, login, logout
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.middleware.csrf import rotate_token
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext_lazy

from config.environments import Environment
from config.errors import DomainError
from merchants.access import attempts
from merchants.access.addresses import client_address, guesser
from merchants.access.errors import TooManyRequests
from merchants.access.log_in.devices import device_of
from merchants.access.log_in.own_actions import log_own_action, origin_of
from merchants.access.log_in.step_up import LOGGED_IN_AT, hours_of_waiting, require_recent_confirmation, waits
from merchants.access.log_in.viewing import viewing_of
from merchants.audit.recording import OngoingAction
from merchants.models import Member, Merchant, User
from merchants.preferences import as_chosen
from merchants.roles import OF_THE_ACCOUNT, SENSITIVE, Action, Permission

USED_AT: Final = "used_at"
DEVICE: Final = "device"
"""The browser's name of itself."""
ADDRESS: Final = "address"
"""Last address of the session."""
_ENVIRONMENT: Final = "environment"
MERCHANT: Final = "merchant"
"""The public id of the merchant in view."""
_USE_IS_NOTED_EVERY_SECONDS: Final = 60

_SAFE_METHODS: Final = ("GET", "HEAD", "OPTIONS")


class LogInRefused(DomainError):
    """The same error for an unknown address, a wrong password and a disabled account."""

    code = "log_in_refused"
    status = 401
    message = "The e-mail address or the password is not right."


class TooManyLogIns(TooManyRequests):
    code = "too_many_log_ins"
    message = "Too many attempts to log in."


class MemberRequest(HttpRequest):
    """A request that `member_required` let through. Where its page does something, `action` takes what was done, and
    `heard` is what `before_transaction` returned."""

    action: OngoingAction
    heard: object
    user: User
    memberships: list[Member]
    """All of the person's, the first one joined first."""
    member: Member
    merchant: Merchant
    environment: Environment


# --- logging in and out ------------------------------------------------------------------------------


def log_in(request: HttpRequest, *, email: str, password: str, target: str | None = None) -> HttpResponse:
    """Starts a new session under a new key, or sends on to the next step of the log-in; returns where to go.

    The steps are those of the account adapter: a confirmed address, and a second factor where there is one.
    Raises LogInRefused or TooManyLogIns.
    """
    user = check_password(request, email=email, password=password)
    reply = perform_password_login(request, {"email": user.email}, Login(user=user, redirect_url=target))
    return cast("HttpResponse", reply)


def check_password(request: HttpRequest, *, email: str, password: str) -> User:
    """The person whose password it is; LogInRefused or TooManyLogIns otherwise.

    Attempts are counted before the password is looked at, so that guesses in parallel count too. Further guesses
    have to wait longer and longer, but an account is never locked for good. A device from which the account has
    logged in before has a count of its own, so that guesses of strangers do not lock its owner out.
    """
    if "\0" in email + password:  # no account contains it, and PostgreSQL cannot search for it
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
        if (owner := User.objects.filter(email__iexact=email.strip()).first()) is not None:
            log_own_action(request, owner, Action.FAIL_TO_LOG_IN)
        raise LogInRefused
    attempts.forget(counted)
    if address:
        attempts.give_back(address)
    return user


def begin_session(request: HttpRequest, user: User) -> None:
    """Starts a new session under a new key for somebody who has passed every step of the log-in."""
    login(request, user)
    request.session[LOGGED_IN_AT] = request.session[USED_AT] = int(time.time())
    request.session[DEVICE] = request.META.get("HTTP_USER_AGENT", "")[:300]
    request.session[ADDRESS] = str(client_address(request) or "")
    first = Member.objects.filter(user=user).select_related("merchant").order_by("id").first()
    if first is not None:
        request.session[MERCHANT] = first.merchant.public_id
    log_own_action(request, user, Action.LOG_IN)


def account_name(email: str) -> str:
    """The name that attempts to log in are counted under, the same for every spelling of the address."""
    return email.strip().lower()[:254]


def log_out(request: HttpRequest) -> None:
    if isinstance(request.user, User):
        log_own_action(request, request.user, Action.LOG_OUT)
    logout(request)


def operators_log_in(request: HttpRequest) -> HttpResponse:
    """Replaces the admin's own log-in form, which would count no attempts, by the one for everybody."""
    if request.user.is_authenticated:
        raise PermissionDenied
    return redirect_to_login(request.GET.get("next", "/admin/"))


class SessionLimitsMiddleware:
    """Ends a session that was not used for SESSION_IDLE, or is older than SESSION_LIFETIME, for every page alike.

    A page that only looks again (static/js/refresh.js) is no use of it.

    It comes after AuthenticationMiddleware. Without a session cookie, as on the API, it costs nothing.
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
        # A session that `log_in` has not started counts from when it is first seen.
        logged_in_at = request.session.setdefault(LOGGED_IN_AT, now)
        used_at = request.session.setdefault(USED_AT, now)
        is_too_old = now - logged_in_at >= settings.SESSION_LIFETIME.total_seconds()
        if is_too_old or now - used_at >= settings.SESSION_IDLE.total_seconds():
            logout(request)
        elif now - used_at >= _USE_IS_NOTED_EVERY_SECONDS and "X-Refresh" not in request.headers:
            request.session[USED_AT] = now
            request.session[ADDRESS] = str(client_address(request) or "")


# --- acting for a merchant ---------------------------------------------------------------------------

_P = ParamSpec("_P")
_LET_IN_LATELY = gettext_lazy(
    "The operator of this service gave you access recently. For %(hours)s hours you cannot refund payments, "
    "create keys, change wallets or manage members. The owners were told by e-mail."
)
_SUSPENDED = gettext_lazy(
    "The operator of this service has suspended this business: you can look at everything and change nothing. Ask the "
    "operator."
)
_MemberView = Callable[Concatenate[MemberRequest, _P], HttpResponseBase]
_View = Callable[Concatenate[HttpRequest, _P], HttpResponseBase]


@overload
def member_required(view: _MemberView[_P], /) -> _View[_P]: ...
@overload
def member_required(
    *,
    permission: Permission | None = None,
    action: Action | None = None,
    before_transaction: Callable[..., object] | None = None,
    only_session: bool = False,
    several: bool = False,
) -> Callable[[_MemberView[_P]], _View[_P]]: ...
def member_required(
    view: Any = None,
    /,
    *,
    permission: Permission | None = None,
    action: Action | None = None,
    before_transaction: Callable[..., object] | None = None,
    only_session: bool = False,
    several: bool = False,
) -> Any:
    """Lets members through who have the permission, with `request.member`, `.merchant` and `.environment` set.

    A page that changes something declares its `action`, whose permission is needed for the POST, and for the GET as
    well unless a `permission` is named. A page without an action refuses every POST with 405, except one that changes
    `only_session`, the person's own log-in session.

    A `SENSITIVE` action requires a step-up, unless there was one a short while ago: before the form where the page has
    no permission of its own, else when the form is sent.

    The POST is one database transaction, which also writes the audit log (see `OngoingAction.perform`). Queries outside
    Ballast run before it begins, in `before_transaction`, which gets the arguments of the view. A page that does
    `several` things does each by `request.action.alone()`, and changes nothing beside.

    While the merchant is suspended, only what needs no more than the permission to see is done.

    Strangers are sent to log in; people who are no member of any merchant, or whose role lacks the permission, are
    refused with 403.
    """
    to_see = permission or (action.permission if action else Permission.SEE)
    to_change = action.permission if action else to_see

    def decorate(inner: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
        @wraps(inner)
        def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return redirect_to_login(request.get_full_path())
            is_change = request.method not in _SAFE_METHODS
            if is_change and action is None and not only_session:
                return HttpResponseNotAllowed(_SAFE_METHODS)
            known = cast("MemberRequest", request)
            member = _member_of(known, is_change=is_change)
            if member is None or not member.may[to_change if is_change else to_see]:
                raise PermissionDenied
            if viewing_of(request) and (is_change or (action and permission is None)):
                raise PermissionDenied  # a page that only shows a form whose POST ViewingMiddleware refuses
            if action in SENSITIVE and (is_change or permission is None):
                require_recent_confirmation(request)
            known.member, known.merchant = member, member.merchant
            known.environment = environment_of(known)
            where = "" if action in OF_THE_ACCOUNT else known.environment
            if is_change and action in SENSITIVE and waits(member.user, where):
                messages.error(request, _LET_IN_LATELY % {"hours": hours_of_waiting(where)})
                return redirect("dashboard")
            if is_change and action and action.permission != Permission.SEE and not known.merchant.is_active:
                messages.error(request, _SUSPENDED)
                return redirect("dashboard")
            if action is None:
                with as_chosen(language=member.language, zone=member.timezone, numbers=member.number_style):
                    return inner(known, *args, **kwargs)
            known.action = OngoingAction(
                action,
                member=member,
                environment=where,
                origin=origin_of(known),
                record=next(iter(kwargs.values()), ""),
            )
            with as_chosen(language=member.language, zone=member.timezone, numbers=member.number_style):
                if not is_change or several:
                    return inner(known, *args, **kwargs)
                if before_transaction is not None:
                    known.heard = before_transaction(known, *args, **kwargs)
                return known.action.perform(lambda: inner(known, *args, **kwargs))

        wrapper.is_for_members = True  # type: ignore[attr-defined]  # read by ViewingMiddleware
        return wrapper

    return decorate if view is None else decorate(view)


def environment_of(request: HttpRequest) -> Environment:
    """The environment in view; the sandbox until the person chooses."""
    if viewing := viewing_of(request):
        return viewing.environment
    return Environment(request.session.get(_ENVIRONMENT, Environment.SANDBOX))


def choose_environment(request: HttpRequest, environment: Environment) -> None:
    """Forms that are open in another tab expire: they were opened in the other environment."""
    request.session[_ENVIRONMENT] = environment.value
    rotate_token(request)


def choose_merchant(request: HttpRequest, merchant: Merchant) -> None:
    """For people who are members of several; PermissionDenied when they are none of this one's.

    Forms that are open in another tab expire: they were opened for the other merchant.
    """
    if not Member.objects.filter(user=cast("User", request.user), merchant=merchant).exists():
        raise PermissionDenied
    request.session[MERCHANT] = merchant.public_id
    rotate_token(request)


def _member_of(request: MemberRequest, *, is_change: bool) -> Member | None:
    """The membership in use: of the chosen merchant, else of the first one joined.

    None when there is none, or when a form comes from somebody who is no member of the chosen merchant any more: it
    was opened there, and must not change another one. An operator who looks at a dashboard is a viewer of it alone.
    """
    if viewing := viewing_of(request):
        request.memberships = [viewing.member(request.user)]
        return request.memberships[0]
    request.memberships = list(
        Member.objects.filter(user=request.user).select_related("merchant", "user").order_by("id")
    )
    chosen = request.session.get(MERCHANT)
    for membership in request.memberships:
        if membership.merchant.public_id == chosen:
            return membership
    if chosen is not None and is_change:
        return None
    return request.memberships[0] if request.memberships else None
