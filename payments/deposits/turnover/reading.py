"""Reads what payments came to, by one query over counters."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from config.database.replica import reading_cursor
from merchants.models import Merchant
from payments.deposits.turnover.counting import TURNOVER
from payments.deposits.turnover.models import Span


@dataclass(frozen=True, slots=True)
class Came:
    """Turnover of payments of one network, coin and currency, created in a bar of time."""

    at: datetime
    network: str
    coin: str
    currency: str
    paid: int
    unpaid: int
    volume: int
    """Minor units of the currency."""
    seconds: int


_READ = f"""
    SELECT date_bin(%(bar)s, starts_at, %(first)s), network, cryptocurrency, currency,
        SUM(paid), SUM(unpaid), SUM(volume), SUM(seconds)
    FROM ({TURNOVER.rows}) AS parts
    WHERE merchant_id = %(merchant)s AND environment = %(environment)s AND span = %(span)s
        AND starts_at >= %(first)s AND starts_at < %(end)s
    GROUP BY 1, 2, 3, 4 ORDER BY 1
"""  # noqa: S608 - names of our own tables


def turnover_between(
    merchant: Merchant, environment: str, span: Span, first: datetime, end: datetime, *, bar: timedelta
) -> list[Came]:
    """Turnover of payments created from `first` up to but without `end`, in bars of whole hours or days, UTC."""
    parameters: dict[str, Any] = {
        "merchant": merchant.pk,
        "environment": str(environment),
        "span": span.value,
        "first": first,
        "end": end,
        "bar": bar,
    }
    with reading_cursor() as cursor:
        cursor.execute(_READ, parameters)
        return [Came(*row[:4], *map(int, row[4:])) for row in cursor.fetchall()]
