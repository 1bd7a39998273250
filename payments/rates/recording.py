"""Rates that are kept for good, one a day for each coin and currency, and what something was worth by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.utils import timezone

from config.coins import COINS, USD
from config.environments import Environment
from config.money import FIAT_DIGITS
from payments.rates.models import RecordedRate
from payments.rates.quoting import RATE_DIGITS, RateUnavailable, quote

GOOD_FOR = timedelta(days=2)
"""The rate of a day is used for the next day as well, when that has none of its own."""


def record_rates(now: datetime | None = None) -> int:
    """Keep the rates of this day that are not kept yet; returns how many. Those without an agreed rate come later."""
    now = now or timezone.now()
    recorded = 0
    for environment in Environment.values:
        known = set(RecordedRate.objects.filter(environment=environment, day=now.date()).values_list("base", "quote"))
        missing = [(coin, currency) for coin in COINS for currency in FIAT_DIGITS if (coin, currency) not in known]
        rows = [row for coin, currency in missing if (row := _row(environment, coin, currency, now))]
        recorded += len(RecordedRate.objects.bulk_create(rows, ignore_conflicts=True))
    return recorded


def _row(environment: str, coin: str, currency: str, now: datetime) -> RecordedRate | None:
    try:
        found = quote(currency, coin, environment=environment, now=now)
    except RateUnavailable:
        return None
    return RecordedRate(
        environment=environment,
        base=coin,
        quote=currency,
        day=now.date(),
        rate=found.rate,
        source=found.source[:200],
        recorded_at=now,
    )


@dataclass(frozen=True, slots=True)
class KnownRate:
    """Worth of one of a coin, with its source and the time of its record."""

    rate: Decimal
    source: str
    recorded_at: datetime

    @property
    def shown(self) -> str:
        return f"{self.rate.normalize():f}"


class RecordedRates:
    """The rates of all coins in some currencies that count for a time; read once."""

    def __init__(self, environment: str, currencies: Sequence[str], start: datetime, end: datetime) -> None:
        rows = RecordedRate.objects.filter(
            environment=environment,
            quote__in={*currencies, USD},
            day__gte=(start - GOOD_FOR).date(),
            day__lte=end.date(),
        )
        self._rows: dict[tuple[str, str], list[RecordedRate]] = {}
        for row in rows.order_by("-recorded_at"):
            self._rows.setdefault((row.base, row.quote), []).append(row)

    def of(self, coin: str, currency: str, at: datetime) -> KnownRate | None:
        """The newest rate that was recorded before, no more than two days; None when there is none.

        Of a coin in another coin: by the rates of both in dollars.
        """
        if coin == currency:
            return KnownRate(Decimal(1), "", at)
        if currency in COINS:
            own, other = self.of(coin, USD, at), self.of(currency, USD, at)
            if own is None or other is None:
                return None
            source = "; ".join(dict.fromkeys((own.source, other.source)))
            rate = (own.rate / other.rate).quantize(Decimal(1).scaleb(-RATE_DIGITS))
            return KnownRate(rate, source, min(own.recorded_at, other.recorded_at))
        for row in self._rows.get((coin, currency), ()):
            if row.recorded_at < at:
                is_good = at - row.recorded_at <= GOOD_FOR
                return KnownRate(row.rate, row.source, row.recorded_at) if is_good else None
        return None
