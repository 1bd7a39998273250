"""What a source reports as the price of a coin or currency, before it is checked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

USD = "USD"
COINS = ("USDC", "USDT", "DAI")
"""Every coin is priced in US dollars, every currency as the price of one US dollar in it."""

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
