"""Finds the rate that several sources agree on. Pure: from observations and a time to a rate or None."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from statistics import median

from config.coins import COINS, USD, Coin
from payments.rates.observations import Observation, Pair

LARGEST_DEVIATION = Decimal("0.02")
"""An observation further than this from the median is dropped."""

CLOCK_TOLERANCE = timedelta(minutes=1)
"""Largest lead of a source's clock over ours."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Conditions of a credible rate of one pair.

    At least `quorum` sources must agree, none older than `stale_after`, all inside the hard band `lowest..highest`. An
    agreed rate may be quoted until its observations are `usable_for` old.
    """

    quorum: int
    stale_after: timedelta
    usable_for: timedelta
    lowest: Decimal
    highest: Decimal


@dataclass(frozen=True, slots=True)
class AgreedRate:
    """The median of the sources that agree; `observed_at` is the time of the oldest of them."""

    base: str
    quote: str
    rate: Decimal
    sources: tuple[str, ...]
    observed_at: datetime

    def is_usable(self, now: datetime) -> bool:
        """True if it may still be quoted; never of a pair that Ballast does not price."""
        rule = rule_for((self.base, self.quote))
        return rule is not None and now - self.observed_at <= rule.usable_for


# A dollar more or less than ten cents off is a crisis in which a person decides, not a price.
_DOLLAR_BAND = Decimal("0.90"), Decimal("1.10")

# Central banks publish once on each working day: from Maundy Thursday to the Tuesday after Easter is five days,
# and the publication may be late. One reference rate is enough, it is the official one.
_FIAT_AGE = timedelta(days=6)

# Units for one dollar around which the band of a currency lies. It excludes an inverted rate, misplaced digits and
# another currency's rate, not a crisis: half to double for most, less for those near one dollar, whose inverse
# would else pass, and more for the lira, which has lost a third in a year before.
_USUAL_USD = {
    "EUR": "0.87", "GBP": "0.76", "CHF": "0.80", "AUD": "1.54", "CAD": "1.40", "NZD": "1.75", "SGD": "1.30",
    "CZK": "21", "DKK": "6.5", "HUF": "332", "NOK": "10.2", "PLN": "3.7", "RON": "4.4", "SEK": "9.5", "TRY": "42",
    "BRL": "5.3", "CNY": "7.1", "HKD": "7.8", "IDR": "16700", "ILS": "3.3", "INR": "89", "MXN": "18.3", "MYR": "4.15",
    "PHP": "59", "THB": "32.5", "ZAR": "17.2", "JPY": "157", "KRW": "1470", "ISK": "127",
    "AED": "3.6725", "SAR": "3.75", "QAR": "3.64", "BHD": "0.376", "OMR": "0.3845",
}  # fmt: skip
_PEGGED = frozenset({"AED", "SAR", "QAR", "BHD", "OMR"})


def rule_for(pair: Pair) -> Rule | None:
    """The rule of a pair, or None when Ballast does not price it."""
    base, quote = pair
    if base in COINS and quote == USD:
        return _coin_rule(COINS[base])
    if base != USD or quote not in _USUAL_USD:
        return None
    usual = Decimal(_USUAL_USD[quote])
    return Rule(
        quorum=1,
        stale_after=_FIAT_AGE,
        usable_for=_FIAT_AGE,
        lowest=usual / _spread(quote, usual),
        highest=usual * _spread(quote, usual),
    )


def _coin_rule(coin: Coin) -> Rule:
    """Two of the configured exchanges must agree on a coin, so that no single one can set a price."""
    spread = _spread(coin.peg, coin.dollars)
    lowest, highest = _DOLLAR_BAND if coin.peg == USD else (coin.dollars / spread, coin.dollars * spread)
    return Rule(2, timedelta(seconds=120), timedelta(minutes=10), lowest, highest)


def _spread(currency: str, usual: Decimal) -> Decimal:
    if currency in _PEGGED:
        return Decimal("1.01")
    if currency == "TRY":
        return Decimal(4)
    return Decimal("1.30") if Decimal("0.6") < usual < Decimal("1.7") else Decimal(2)


def credible(observation: Observation, *, now: datetime, rule: Rule) -> bool:
    """True if an observation counts at all, whatever the others are."""
    age = now - observation.observed_at
    return (
        observation.rate.is_finite()
        and rule.lowest <= observation.rate <= rule.highest
        and -CLOCK_TOLERANCE <= age <= rule.stale_after
    )


def agree(observations: Iterable[Observation], *, now: datetime, rule: Rule) -> AgreedRate | None:
    """The rate that enough sources agree on, or None. All observations are of one pair.

    The newest credible observation of each source counts; those too far off their median are dropped, and the
    median of the rest is the rate. It lies inside the band, because every one of them does.
    """
    newest: dict[str, Observation] = {}
    for observation in observations:
        if not credible(observation, now=now, rule=rule):
            continue
        known = newest.get(observation.source)
        if known is None or known.observed_at <= observation.observed_at:
            newest[observation.source] = observation
    if not newest:
        return None

    middle = median(observation.rate for observation in newest.values())
    close = [each for each in newest.values() if abs(each.rate - middle) <= LARGEST_DEVIATION * middle]
    if len(close) < rule.quorum:
        return None
    return AgreedRate(
        base=close[0].base,
        quote=close[0].quote,
        rate=median(each.rate for each in close),
        sources=tuple(sorted(each.source for each in close)),
        observed_at=min(each.observed_at for each in close),
    )
