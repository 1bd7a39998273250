"""Step-up: a sensitive action requires a new proof of identity, unless there was one a short while ago."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Concatenate, Final, ParamSpec

from allauth.account.internal.flows.login import get_authentication_records
from allauth.core.exceptions import ReauthenticationRequired
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from config.environments import Environment
from merchants.models import User

LOGGED_IN_AT: Final = "logged_in_at"
"""The key in a session of its beginning, in seconds since 1970."""

_P = ParamSpec("_P")


def confirmed_recently(request: HttpRequest) -> bool:
    """True if the person has logged in, or confirmed to be themselves, within STEP_UP_AFTER."""
    moments = [int(request.session.get(LOGGED_IN_AT, 0))]
    records = get_authentication_records(request, request.user)
    moments += [int(record["at"]) for record in records if record.get("reauthenticated")]
    return time.time() - max(moments) < settings.STEP_UP_AFTER.total_seconds()


def require_recent_confirmation(request: HttpRequest) -> None:
    """Sends the person to confirm who they are, and back; a form that was sent is kept meanwhile."""
    if not confirmed_recently(request):
        raise ReauthenticationRequired


def hours_of_waiting(environment: str) -> int:
    is_sandbox = environment == Environment.SANDBOX
    return int(settings.SANDBOX_WALLET_CHANGE_WAIT_HOURS if is_sandbox else settings.WALLET_CHANGE_WAIT_HOURS)


def waits(user: User, environment: str) -> bool:
    """True if operators have let this person in so lately that nothing sensitive may be done yet: as long as another
    wallet waits in the environment. The account as a whole waits as production does."""
    hours = hours_of_waiting(environment)
    let_in_at = user.let_in_by_operators_at
    return let_in_at is not None and timezone.now() < let_in_at + timedelta(hours=hours)


def recently_confirmed(
    view: Callable[Concatenate[HttpRequest, _P], HttpResponse], /
) -> Callable[Concatenate[HttpRequest, _P], HttpResponse]:
    """For a page of somebody who is logged in. Members' pages name an action of `SENSITIVE` instead."""

    @wraps(view)
    def wrapper(request: HttpRequest, /, *args: _P.args, **kwargs: _P.kwargs) -> HttpResponse:
        require_recent_confirmation(request)
        return view(request, *args, **kwargs)

    return wrapper
