"""The price of one coin in another. Pure; `pricing` finds the prices."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Price:
    """Worth of one of a coin in another coin: the settlement currency, or a coin that is owed."""

    rate: Decimal
    source: str
    quoted_at: datetime
