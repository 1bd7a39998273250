"""Preferences of members: which mails they get, and how pages show times."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo

from django.db.models import TextChoices
from django.utils import timezone, translation
from django.utils.translation import gettext_lazy as _

from config.pages.wording import numbers_as
from merchants.roles import Role


class Notice(TextChoices):
    """Kinds of mail notices to a member."""

    PAID = "payment_paid", _("A payment is paid")
    UNPAID = "payment_unpaid", _("A payment expires, or its network undoes it")
    DECISION = "decision", _("Money waits for a decision")
    SETTLED = "settlement_made", _("A settlement is paid")
    HELD = "settlement_held", _("A settlement could not be paid")
    WAITS = "settlement_waits", _("A settlement waits for more than a quarter of an hour")


class NumberStyle(TextChoices):
    """Styles of numbers on pages: the names of `config.pages.wording.NUMBERS`."""

    COMMA = "comma", "1,234,567.89"
    POINT = "point", "1.234.567,89"
    SPACE = "space", "1\u202f234\u202f567,89"
    APOSTROPHE = "apostrophe", "1\u2019234\u2019567.89"


_BY_DEFAULT: Final = {
    Role.OWNER: (Notice.DECISION, Notice.HELD, Notice.WAITS),
    Role.ADMIN: (Notice.DECISION, Notice.HELD, Notice.WAITS),
}


def usual_notices(role: str) -> list[str]:
    """Notices of a member of this role before they have chosen."""
    return [notice.value for notice in _BY_DEFAULT.get(Role(role), ())] if role in Role.values else []


@contextmanager
def as_chosen(*, language: str, zone: str, numbers: str) -> Iterator[None]:
    """Inside, texts are in the language, times in the time zone and numbers in the style that a member chose."""
    with (
        translation.override(language),
        timezone.override(_zone(zone)),
        numbers_as(numbers),
    ):
        yield


@cache
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)
