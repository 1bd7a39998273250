"""Filters of a list of payments, and of its export."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import date
from decimal import Decimal
from math import ceil, floor
from typing import Any, Self

from django.db.models import Q

from config.api.pagination import KeyRange
from config.money import FIAT_DIGITS
from config.pages.typed_amounts import unambiguous


@dataclass(frozen=True)
class PaymentFilter:
    """Each is optional. Amounts are prices in the payment's own currency; days are UTC, both included."""

    q: str = ""
    status: str = ""
    network: str = ""
    coin: str = ""
    least: Decimal | None = None
    most: Decimal | None = None
    start: date | None = None
    end: date | None = None

    @classmethod
    def from_json(cls, stored: dict[str, str]) -> Self:
        known: dict[str, Any] = {each.name: stored[each.name] for each in fields(cls) if stored.get(each.name)}
        kinds: dict[str, Callable[[str], Any]] = {
            "least": Decimal,
            "most": Decimal,
            "start": date.fromisoformat,
            "end": date.fromisoformat,
        }
        return cls(**{name: kinds.get(name, str)(value) for name, value in known.items()})

    def as_json(self) -> dict[str, str]:
        """Only what is set, as the address of the list names it."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {
            name: unambiguous(value) if isinstance(value, Decimal) else str(value)
            for name, value in values.items()
            if value
        }

    @property
    def is_empty(self) -> bool:
        return not self.as_json()

    @property
    def is_counted(self) -> bool:
        """True if the counters know how many payments there are: by status and day they do."""
        return self.as_json().keys() <= {"status", "start", "end"}

    def keys(self) -> KeyRange:
        """The days as a range of keys."""
        return KeyRange.of_days(self.start, self.end)

    def condition(self) -> Q:
        """All of it but the text that is searched for."""
        named = {"status": self.status, "network": self.network, "cryptocurrency": self.coin}
        return self.keys().condition & Q(**{name: value for name, value in named.items() if value}) & self._amounts()

    def _amounts(self) -> Q:
        if self.least is None and self.most is None:
            return Q()
        within = Q()
        for digits in sorted(set(FIAT_DIGITS.values())):
            one = Q(currency__in=[currency for currency, each in FIAT_DIGITS.items() if each == digits])
            if self.least is not None:
                one &= Q(fiat_amount__gte=ceil(self.least.scaleb(digits)))
            if self.most is not None:
                one &= Q(fiat_amount__lte=floor(self.most.scaleb(digits)))
            within |= one
        return within
