"""Amounts, hashes and waiting times as pages show them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from django.utils.dateformat import format as date_format
from django.utils.translation import get_language, get_language_bidi, gettext, pgettext

from config.api.renderers import render_json
from config.money import FIAT_DIGITS, format_crypto, from_units, round_up_to_shown, to_units

NUMBERS: Mapping[str, tuple[str, str]] = {
    "comma": (",", "."),
    "point": (".", ","),
    "space": ("\u202f", ","),
    "apostrophe": ("\u2019", "."),
}
"""Signs of numbers for readers: the one between groups of digits, and the decimal sign."""
_OF_LANGUAGE: Mapping[str, str] = {
    **dict.fromkeys(("de", "es", "it", "pt-br", "nl", "tr", "id", "vi"), "point"),
    **dict.fromkeys(("fr", "pl", "cs", "uk"), "space"),
}
"""The styles of the languages that do not write `1,234.56`, after CLDR. Digits stay 0 to 9, as wallets show them."""
_numbers: ContextVar[str | None] = ContextVar("numbers", default=None)
_SHOWN_DIGITS = 2
_HOUR, _MINUTE = 3_600, 60


@contextmanager
def numbers_as(style: str) -> Iterator[None]:
    """Inside, numbers for reading are written in this style, one of NUMBERS."""
    before = _numbers.set(style)
    try:
        yield
    finally:
        _numbers.reset(before)


def in_style(number: str) -> str:
    """`1.250,00` of `1,250.00` for somebody who writes numbers so; what is copied or stored stays as it is.

    The style is the one of `numbers_as`, else that of the language.
    """
    group, point = NUMBERS[_numbers.get() or style_of(get_language() or "")]
    return "".join({",": group, ".": point}.get(character, character) for character in number)


def style_of(language: str) -> str:
    """The style in which a language writes numbers, one of NUMBERS."""
    return _OF_LANGUAGE.get(language, "comma")


def fiat(units: int, currency: str) -> str:
    """`1,250.00 EUR`, with the digits its currency has; `−1,250.00 EUR` below zero."""
    digits = FIAT_DIGITS[currency]
    return signed(units, f"{in_style(f'{from_units(abs(units), digits):,.{digits}f}')} {currency}")


def signed(amount: int | Decimal, words: str) -> str:
    """The words of an amount without its sign, with a minus before them where it is below zero.

    In a language that is written from right to left they are kept together, from left to right.
    """
    return left_to_right(f"−{words}" if amount < 0 else words)


def left_to_right(words: str) -> str:
    """The words, kept together and in their order also within a text that is written from right to left."""
    return f"\u2066{words}\u2069" if get_language_bidi() else words


def metadata_rows(metadata: Mapping[str, Any]) -> list[tuple[str, str]]:
    """A merchant's own values by name: text as it is, everything else as JSON."""
    return [
        (name, value if isinstance(value, str) else render_json(value).decode())
        for name, value in sorted(metadata.items())
    ]


def item(line: Mapping[str, Any], currency: str) -> tuple[str, str]:
    """A line of what is paid for, and its amount: `2 × Flat white` and `7.00 EUR`, or no amount."""
    name = line["name"] if line["quantity"] == 1 else f"{line['quantity']:,} × {line['name']}"
    if line["amount"] is None:
        return name, ""
    return name, fiat(to_units(Decimal(line["amount"]), FIAT_DIGITS[currency]), currency)


def coins_held(units: int, decimals: int) -> str:
    """Money that is there, to the last digit, without needless zeros: `12.50`."""
    return _without_needless_zeros(format_crypto(units, decimals))


def coins(units: int, decimals: int, code: str) -> str:
    """Money that is there, with its coin: `1,212.50 USDC`; `−1,212.50 USDC` below zero."""
    return signed(units, f"{grouped(coins_held(abs(units), decimals))} {code}")


def coins_to_send(units: int, decimals: int) -> str:
    """Money to send: rounded up to six digits, so that it is enough."""
    return _without_needless_zeros(f"{round_up_to_shown(from_units(units, decimals)):f}")


def number(amount: Decimal) -> str:
    """`1,212.50` of 1212.500000, `−0.50` below zero."""
    return signed(amount, grouped(_without_needless_zeros(f"{abs(amount):f}")))


def grouped(number: str) -> str:
    """`12,500.25` of `12500.25`, for reading only: what somebody copies has no commas."""
    whole, point, fraction = number.partition(".")
    if not whole.lstrip("-").isdigit():
        return number
    sign = "-" if whole.startswith("-") else ""  # that of -0.5 is not in its whole part
    return in_style(f"{sign}{abs(int(whole)):,}{point}{fraction}")


def whole(number: int) -> str:
    """`12,500`: how many there are of something."""
    return in_style(f"{number:,}")


def percent(share: Decimal, digits: int = 1) -> str:
    """`97.5 %`, with so many digits after the sign."""
    return f"{in_style(f'{share:.{digits}f}')} %"


def rate(price: Decimal) -> str:
    return in_style(_without_needless_zeros(f"{price.normalize():f}"))


def quote(code: str, price: Decimal, currency: str) -> str:
    """`1 USDC = 0.8667 EUR`."""
    return left_to_right(f"1 {code} = {rate(price)} {currency}")


def about(seconds: float) -> str:
    """An approximate waiting time: `about 8 s`, `about 3 min`."""
    return gettext("about %(time)s") % {"time": duration(seconds)}


def duration(seconds: float) -> str:
    """`8 s`, `3 min`, `2 h`."""
    if seconds < _MINUTE * 1.5:
        number, words = max(1, round(seconds)), gettext("%(number)s s")
    elif seconds < _HOUR * 1.5:
        number, words = round(seconds / _MINUTE), gettext("%(number)s min")
    else:
        number, words = round(seconds / _HOUR), gettext("%(number)s h")
    return words % {"number": number}


def moment(at: datetime) -> str:
    """`23 November 2026, 11:23 UTC`."""
    # Translators: the format of a day and a time, in the letters of Django's `date` filter.
    return f"{date_format(at.astimezone(UTC), pgettext('date format', 'j F Y, H:i'))} UTC"


def short_hash(text: str) -> str:
    """The two ends of a hash or an address, enough to recognise it by."""
    return text if len(text) <= 20 else f"{text[:10]}…{text[-8:]}"


def short_id(public_id: str) -> str:
    """`pay_…7q2w8x1c`: the end of an id, by which records differ, as its beginning is the time."""
    prefix, _, body = public_id.partition("_")
    return f"{prefix}_…{body[-8:]}" if body else public_id


def _without_needless_zeros(number: str) -> str:
    whole, _, fraction = number.partition(".")
    return f"{whole}.{fraction.rstrip('0').ljust(_SHOWN_DIGITS, '0')}"
