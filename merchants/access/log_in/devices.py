"""The devices somebody has logged in from: a signed cookie names one, and guesses made elsewhere do not block it."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from typing import Final

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse

REMEMBERED_FOR: Final = timedelta(days=180)
_SALT: Final = "ballast.device"


def device_of(request: HttpRequest, account: str) -> str | None:
    """The name of this device as one from which `account` has logged in before; None when it is not."""
    signed = request.COOKIES.get(_cookie_name(account), "")
    try:
        known, device = signing.loads(signed, salt=_SALT, max_age=REMEMBERED_FOR)
    except (signing.BadSignature, ValueError, TypeError):
        return None
    return str(device) if known == account else None


def remember_device(request: HttpRequest, response: HttpResponse, account: str) -> None:
    """Give the browser a cookie for the account that has just logged in, under the name the device has already."""
    device = device_of(request, account) or secrets.token_urlsafe(16)
    response.set_cookie(
        _cookie_name(account),
        signing.dumps([account, device], salt=_SALT),
        max_age=REMEMBERED_FOR,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _cookie_name(account: str) -> str:
    """A name for each account that does not reveal the account."""
    digest = hashlib.sha256(f"{settings.SECRET_KEY}\0{account}".encode()).hexdigest()
    return f"ballast_device_{digest[:16]}"
