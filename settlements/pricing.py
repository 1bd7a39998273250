"""What a coin is worth in another one, by the quotes of both in dollars."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_FLOOR, Decimal, localcontext

from payments.rates.observations import USD
from payments.rates.quoting import RATE_DIGITS, RateUnavailable, quote
from settlements.planning import Price


def price_of(coin: str, currency: str, *, environment: str) -> Price:
    """What one of the coin is worth in the settlement currency, rounded down; RateUnavailable when nobody can tell."""
    own, other = quote(USD, coin, environment=environment), quote(USD, currency, environment=environment)
    with localcontext(prec=60):
        rate = (own.rate / other.rate).quantize(Decimal(1).scaleb(-RATE_DIGITS), rounding=ROUND_FLOOR)
    source = "; ".join(dict.fromkeys((own.source, other.source)))
    return Price(rate, source, min(own.quoted_at, other.quoted_at))


def known_prices(coins: Iterable[str], currency: str, *, environment: str) -> dict[str, Price]:
    """The prices of those coins that have one, for an estimate."""
    prices = {}
    for coin in sorted(set(coins) - {currency}):
        try:
            prices[coin] = price_of(coin, currency, environment=environment)
        except RateUnavailable:
            continue
    return prices
