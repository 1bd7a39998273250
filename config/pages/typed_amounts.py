"""Amounts as people type them: `12.50`, `12,50`, `1,250.00`, `1.250,00`, `1 250`. Pure.

`2,000` is two thousand to one reader and two to another: it has two readings, and a form refuses it by naming both.
"""

from __future__ import annotations

import re
from decimal import Decimal

_SPACES = re.compile("[\\s'\u2019]")  # \u202f and \u00a0 are white space as well
_GROUPED = re.compile(r"[1-9]\d{0,2}(?P<mark>[.,])\d{3}(?:(?P=mark)\d{3})*(?:(?!(?P=mark))[.,]\d+)?")
_PLAIN = re.compile(r"\d+(?:[.,]\d+)?")


def readings_of(text: str) -> list[Decimal]:
    """The amounts that a text can mean, the larger first: none, one, or two where a mark and three digits end it."""
    text = _SPACES.sub("", text)
    found = []
    if grouped := _GROUPED.fullmatch(text):
        found.append(Decimal(text.replace(grouped["mark"], "").replace(",", ".")))
    if _PLAIN.fullmatch(text):
        found.append(Decimal(text.replace(",", ".")))
    return found


def unambiguous(amount: Decimal) -> str:
    """The amount as digits that have one reading alone: `2.000` is `2.00`, `1.125` is `1.1250`."""
    text = f"{amount:f}"
    if len(readings_of(text)) < 2:
        return text
    return text[:-1] if text.endswith("0") else f"{text}0"
