"""The price of a coin in a currency, as requests quote it; and the refresh that keeps it true.

Requests read rows and never ask a provider. `refresh_rates` asks them all, outside of any database transaction.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import ROUND_FLOOR, Decimal, localcontext
from typing import ClassVar

from django.conf import settings
from django.utils import timezone

from config.environments import Environment
from config.errors import DomainError
from payments.rates.agreement import AgreedRate, rule_for
from payments.rates.models import CurrentRate
from payments.rates.observations import USD, Pair
from payments.rates.tables import BUNDLED, BUNDLED_ON, bundled_rates

RATE_DIGITS = 12
"""Fractional digits of a quoted rate."""

REMEMBERED_SECONDS = 1.0
"""How long a process goes on with the rows it has read: quoting is on the way of every payment created."""


class RateUnavailable(DomainError):
    """No rate that is recent enough and agreed on; nothing is guessed, the payment is refused."""

    code: ClassVar[str] = "rate_unavailable"
    message = "No current exchange rate is available for this currency and coin. Try again shortly."


@dataclass(frozen=True, slots=True)
class Quote:
    """`rate` is the price of one coin in the currency; `quoted_at` is when that was so."""

    rate: Decimal
    source: str
    quoted_at: datetime


def quote(currency: str, coin: str, *, environment: str = Environment.SANDBOX, now: datetime | None = None) -> Quote:
    """The price of one `coin` in `currency`; RateUnavailable when there is none to stand by.

    In production the bundled table is never quoted.
    """
    now = now or timezone.now()
    if BUNDLED not in settings.RATE_SOURCES:
        return _compose(currency, coin, rates=_current_rates(), now=now)
    if environment == Environment.PRODUCTION:
        raise RateUnavailable("Production needs real exchange rates: this installation has only the bundled table.")
    return _compose(currency, coin, rates=_bundled((coin, USD), (USD, currency), now=now), now=now)


def _compose(currency: str, coin: str, *, rates: Mapping[Pair, AgreedRate], now: datetime) -> Quote:
    """Coin to dollar, dollar to currency. The rate is rounded down, so that a quote never under-charges."""
    in_dollars = _usable(rates, (coin, USD), now)
    if currency == USD:
        return Quote(_rounded(in_dollars.rate), _named(in_dollars), in_dollars.observed_at)
    dollar = _usable(rates, (USD, currency), now)
    names = dict.fromkeys((_named(in_dollars), _named(dollar)))
    with localcontext(prec=60):
        return Quote(_rounded(in_dollars.rate * dollar.rate), "; ".join(names), in_dollars.observed_at)


def _usable(rates: Mapping[Pair, AgreedRate], pair: Pair, now: datetime) -> AgreedRate:
    rate, rule = rates.get(pair), rule_for(pair)
    if rate is None or rule is None or now - rate.observed_at > rule.usable_for:
        raise RateUnavailable(retry_after_seconds=60)
    return rate


def _rounded(rate: Decimal) -> Decimal:
    with localcontext(prec=60):
        return rate.quantize(Decimal(1).scaleb(-RATE_DIGITS), rounding=ROUND_FLOOR)


def _named(rate: AgreedRate) -> str:
    return ", ".join(rate.sources)


def _bundled(*pairs: Pair, now: datetime) -> Mapping[Pair, AgreedRate]:
    named, table = (f"{BUNDLED} table of {BUNDLED_ON.isoformat()}",), bundled_rates()
    return {pair: AgreedRate(*pair, table[pair], named, now) for pair in pairs if pair in table}


@dataclass(slots=True)
class _Remembered:
    """The rows this process read last, and the monotonic second until which it goes on with them."""

    rates: Mapping[Pair, AgreedRate] = field(default_factory=dict)
    until: float = 0.0


_remembered = _Remembered()


def _current_rates() -> Mapping[Pair, AgreedRate]:
    if time.monotonic() >= _remembered.until:
        _remembered.rates = {
            (row.base, row.quote): AgreedRate(row.base, row.quote, row.rate, tuple(row.sources), row.observed_at)
            for row in CurrentRate.objects.all()
        }
        _remembered.until = time.monotonic() + REMEMBERED_SECONDS
    return _remembered.rates


def forget_rates() -> None:
    """Read the rows again at the next quote: after a refresh, which others see within a second."""
    _remembered.until = 0.0
