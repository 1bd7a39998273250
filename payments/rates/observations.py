"""A source's report of the price of a coin or currency, before it is checked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Observation:
    """One `base` cost `rate` units of `quote` at `observed_at`, by `source`."""

    base: str
    quote: str
    rate: Decimal
    source: str
    observed_at: datetime

    @property
    def pair(self) -> Pair:
        return self.base, self.quote
