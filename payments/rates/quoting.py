"""The price of a coin in a currency, as requests quote it, and the refresh of rates.

Requests read rows and never query a provider. `refresh_rates` queries them all, outside of any database transaction.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import ROUND_FLOOR, Decimal, localcontext
from math import prod
from typing import ClassVar

from django.conf import settings
from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from config.coins import USD
from config.database.purging import delete_in_batches
from config.environments import Environment
from config.errors import DomainError
from payments.rates import sources
from payments.rates.agreement import AgreedRate, agree, credible, rule_for
from payments.rates.models import CurrentRate, RateSnapshot
from payments.rates.observations import Observation, Pair
from payments.rates.providers import PROVIDERS, Provider
from payments.rates.tables import BUNDLED, BUNDLED_ON, PEGS, bundled_rates, pegged_rates

RATE_DIGITS = 12
"""Fractional digits of a quoted rate."""

REMEMBERED_SECONDS = 1.0
"""Time a process uses the rows it has read: every creation of a payment needs a quote."""


SNAPSHOTS_KEPT = timedelta(days=2)

OVERLAP = timedelta(seconds=120)
"""Time the last observation of an exchange counts that does not reply."""


class RateUnavailable(DomainError):
    """There is no recent rate that sources agree on: the payment is refused."""

    code: ClassVar[str] = "rate_unavailable"
    message = "No current exchange rate is available for this currency and coin. Try again shortly."


@dataclass(frozen=True, slots=True)
class Quote:
    """`rate` is the price of one coin in the currency; `quoted_at` is the time of the rate."""

    rate: Decimal
    source: str
    quoted_at: datetime


def quote(currency: str, coin: str, *, environment: str = Environment.SANDBOX, now: datetime | None = None) -> Quote:
    """The price of one `coin` in `currency`; RateUnavailable when there is none.

    In production the bundled table is never quoted.
    """
    now = now or timezone.now()
    if BUNDLED not in settings.RATE_SOURCES:
        rates = _current_rates()
    elif settings.IN_PRODUCTION or environment == Environment.PRODUCTION:
        raise RateUnavailable("Production needs real exchange rates: this installation has only the bundled table.")
    else:
        rates = _bundled((coin, USD), (USD, currency), now=now)
    # Coin to dollar, dollar to currency. The rate is rounded down, so that a quote never under-charges.
    pairs = [(coin, USD)] if currency == USD else [(coin, USD), (USD, currency)]
    usable = [rate for pair in pairs if (rate := rates.get(pair)) and rate.is_usable(now)]
    if len(usable) < len(pairs):
        raise RateUnavailable(retry_after_seconds=60)
    sources = dict.fromkeys(", ".join(rate.sources) for rate in usable)
    with localcontext(prec=60):
        price = _rounded(prod((rate.rate for rate in usable), start=Decimal(1)))
    return Quote(price, "; ".join(sources), usable[0].observed_at)


def cross_quote(coin: str, other: str, *, environment: str) -> Quote:
    """The price of one `coin` in another one, by the quotes of both in dollars, rounded down; RateUnavailable when
    there is none."""
    own, of_other = quote(USD, coin, environment=environment), quote(USD, other, environment=environment)
    with localcontext(prec=60):
        price = _rounded(own.rate / of_other.rate)
    source = "; ".join(dict.fromkeys((own.source, of_other.source)))
    return Quote(price, source, min(own.quoted_at, of_other.quoted_at))


def cross_quotes(coins: Collection[str], others: Collection[str], *, environment: str) -> dict[tuple[str, str], Quote]:
    """By coin and other coin, the prices of those that have one, for an estimate."""
    prices = {}
    for other in sorted(set(others)):
        for coin in sorted(set(coins) - {other}):
            with suppress(RateUnavailable):
                prices[coin, other] = cross_quote(coin, other, environment=environment)
    return prices


def _rounded(rate: Decimal) -> Decimal:
    with localcontext(prec=60):
        return rate.quantize(Decimal(1).scaleb(-RATE_DIGITS), rounding=ROUND_FLOOR)


def _bundled(*pairs: Pair, now: datetime) -> Mapping[Pair, AgreedRate]:
    named, table = (f"{BUNDLED} table of {BUNDLED_ON.isoformat()}",), bundled_rates()
    return {pair: AgreedRate(*pair, table[pair], named, now) for pair in pairs if pair in table}


@dataclass(slots=True)
class _Remembered:
    """The rows this process read last, and the monotonic second until which it uses them."""

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


@dataclass(frozen=True, slots=True)
class Refreshed:
    """Result of a refresh: the pairs agreed on, those without agreement, and the requests that failed."""

    agreed: tuple[Pair, ...] = ()
    disputed: tuple[Pair, ...] = ()
    failures: tuple[str, ...] = ()


def refresh_rates(*, now: datetime | None = None, providers: Collection[Provider] | None = None) -> Refreshed:
    """Query every source, store credible observations, and update each pair whose sources agree.

    A source that is down is in `failures` and changes nothing else. A pair without agreement keeps its last rate, which
    ages until it may not be quoted any more.
    """
    now = now or timezone.now()
    if BUNDLED in settings.RATE_SOURCES:
        return Refreshed()
    if providers is None:
        providers = [_where_set(PROVIDERS[name]) for name in settings.RATE_SOURCES if name in PROVIDERS]
    answers = sources.fetch(_due(providers, now), now=now)
    heard = [*answers.observations, *(pegged_rates(now) if PEGS in settings.RATE_SOURCES else [])]
    agreed = _store(heard, now)
    forget_rates()
    pairs = {rate_pair for rate_pair in (observation.pair for observation in heard) if rule_for(rate_pair)}
    delete_in_batches(RateSnapshot.objects.filter(fetched_at__lt=now - SNAPSHOTS_KEPT))
    return Refreshed(tuple(sorted(agreed)), tuple(sorted(pairs - agreed)), answers.failures)


def _where_set(provider: Provider) -> Provider:
    """The source, with the operator's URL for it where one is set."""
    address = settings.RATE_SOURCE_URLS.get(provider.name)
    return replace(provider, address=address.rstrip("/")) if address else provider


def _due(providers: Iterable[Provider], now: datetime) -> list[Provider]:
    """Providers whose interval has passed since their last reply."""
    patient = [provider.name for provider in providers if provider.interval]
    answered = dict(
        RateSnapshot.objects.filter(source__in=patient)
        .values_list("source")
        .annotate(Max("fetched_at"))
        .values_list("source", "fetched_at__max")
    )
    return [each for each in providers if each.name not in answered or now - answered[each.name] >= each.interval]


@transaction.atomic
def _store(heard: Iterable[Observation], now: datetime) -> set[Pair]:
    """Store credible observations and, together with recent ones, each rate that is agreed on."""
    believable = [each for each in heard if (rule := rule_for(each.pair)) and credible(each, now=now, rule=rule)]
    by_pair: dict[Pair, list[Observation]] = defaultdict(list)
    for row in RateSnapshot.objects.filter(fetched_at__gt=now - OVERLAP, source__in=settings.RATE_SOURCES):
        by_pair[row.base, row.quote].append(Observation(row.base, row.quote, row.rate, row.source, row.observed_at))
    for observation in believable:
        by_pair[observation.pair].append(observation)
    RateSnapshot.objects.bulk_create(
        RateSnapshot(
            base=each.base,
            quote=each.quote,
            rate=each.rate,
            source=each.source,
            observed_at=each.observed_at,
            fetched_at=now,
        )
        for each in believable
    )

    agreed = [
        rate
        for pair, observations in sorted(by_pair.items())
        if (rule := rule_for(pair)) and (rate := agree(observations, now=now, rule=rule))
    ]
    CurrentRate.objects.bulk_create(
        [
            CurrentRate(
                base=rate.base,
                quote=rate.quote,
                rate=rate.rate,
                sources=list(rate.sources),
                observed_at=rate.observed_at,
                agreed_at=now,
            )
            for rate in agreed
        ],
        update_conflicts=True,
        unique_fields=["base", "quote"],
        update_fields=["rate", "sources", "observed_at", "agreed_at"],
    )
    return {(rate.base, rate.quote) for rate in agreed}
