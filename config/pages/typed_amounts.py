"""Amounts as people type them: `12.50`, `12,50`, `1,250.00`, `1.250,00`, `1 250`.

`2,000` is two thousand to one reader and two to another: it has two readings, and a form refuses it by naming both.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

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


class AmountField(forms.DecimalField):
    """A number as people write it, `12.50` or `12,50`: a Decimal once it is valid. One with two readings is refused."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("widget", forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}))
        messages = {"invalid": gettext_lazy("Enter an amount such as 12.50."), **options.pop("error_messages", {})}
        super().__init__(error_messages=messages, **options)

    def prepare_value(self, value: Any) -> Any:
        return unambiguous(value) if isinstance(value, Decimal) else value

    def to_python(self, value: Any) -> Any:
        readings = readings_of(str(value)) if value not in self.empty_values else []
        if len(readings) > 1:
            raise ValidationError(
                _("“%(typed)s” can be read as %(more)s or as %(less)s. Write %(more)s or %(less)s."),
                params={"typed": value, "more": f"{readings[0]:f}", "less": unambiguous(readings[1])},
                code="ambiguous",
            )
        return super().to_python(readings[0] if readings else value)
