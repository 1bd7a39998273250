"""Conversion of one coin into another. Pure; `pricing` finds the prices."""

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


def converted(units: int, rate: Decimal, from_decimals: int, to_decimals: int) -> int:
    """Base units of a coin as base units of another, at `rate` of the other for one; rounded down."""
    numerator, denominator = rate.as_integer_ratio()
    return units * numerator * int(10**to_decimals) // (denominator * int(10**from_decimals))


def units_worth(units: int, rate: Decimal, from_decimals: int, to_decimals: int) -> int:
    """The fewest base units of a coin that are worth so many of another, at `rate` of the other for one."""
    numerator, denominator = rate.as_integer_ratio()
    return -(-units * denominator * int(10**from_decimals) // (numerator * int(10**to_decimals)))
