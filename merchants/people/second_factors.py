"""Factors of people besides a password: an app that makes codes, passkeys, and recovery codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.utils.translation import gettext

from config.pages.qr import data_uri, render_png
from merchants.models import User
from merchants.people.sealing import SECOND_FACTORS

_SEALED: Final = ("secret", "seed")
"""The values of an authenticator that are sealed."""


@dataclass(frozen=True)
class Factors:
    """The factors of a person."""

    app: Any
    """The authenticator of the app, or None."""
    passkeys: list[Any]
    codes_left: int

    @property
    def are_set_up(self) -> bool:
        return self.app is not None or bool(self.passkeys)


def of(user: User) -> Factors:
    found = list(Authenticator.objects.filter(user=user).order_by("pk"))
    apps = [each for each in found if each.type == Authenticator.Type.TOTP]
    codes = [each for each in found if each.type == Authenticator.Type.RECOVERY_CODES]
    return Factors(
        app=apps[0] if apps else None,
        passkeys=[each for each in found if each.type == Authenticator.Type.WEBAUTHN],
        codes_left=len(codes[0].wrap().get_unused_codes()) if codes else 0,
    )


def who_has_any(users: Iterable[User]) -> set[int]:
    """The keys of those of these people who have an app or a passkey."""
    kinds = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)
    found = Authenticator.objects.filter(user__in=list(users), type__in=kinds)
    return set(found.values_list("user_id", flat=True))


def reseal() -> int:
    """Seals every stored secret under the SECRET_KEY of now; returns how many authenticators that were."""
    resealed = 0
    for authenticator_id in Authenticator.objects.values_list("pk", flat=True):
        with transaction.atomic():
            each = Authenticator.objects.select_for_update().filter(pk=authenticator_id).first()
            if each is None or not (names := [name for name in _SEALED if name in each.data]):
                continue
            for name in names:
                each.data[name] = SECOND_FACTORS.seal(SECOND_FACTORS.unseal(each.data[name]))
            each.save(update_fields=["data"])
            resealed += 1
    return resealed


def can_unseal(data: Mapping[str, Any]) -> bool:
    """True if the keys of now unseal what is sealed of an authenticator."""
    try:
        for name in _SEALED:
            if name in data:
                SECOND_FACTORS.unseal(data[name])
    except (ImproperlyConfigured, ValueError):
        return False
    return True


class SecondFactorAdapter(DefaultMFAAdapter):
    def encrypt(self, text: str) -> str:
        return SECOND_FACTORS.seal(text)

    def decrypt(self, encrypted_text: str) -> str:
        return SECOND_FACTORS.unseal(encrypted_text)

    def generate_authenticator_name(self, user: User, type: Authenticator.Type) -> str:
        return gettext("Passkey")

    def build_totp_svg(self, url: str) -> str:
        """A picture of ours instead: `qr_code` of the page."""
        return ""


def qr_code_of(url: str) -> str:
    """The QR code of an address of an app, as a data URI."""
    return data_uri(render_png(url))
