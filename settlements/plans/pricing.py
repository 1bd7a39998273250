"""Price of a coin in another one, by the quotes of both in dollars."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from decimal import ROUND_FLOOR, Decimal, localcontext

from django.conf import settings

from config.coins import USD
from payments.rates.quoting import RATE_DIGITS, RateUnavailable, quote
from settlements.models import Settlement
from settlements.plans.conversion import Price
from settlements.states import RateMoment


def price_of(coin: str, currency: str, *, environment: str) -> Price:
    """Worth of one of the coin in the settlement currency, rounded down; RateUnavailable when there is no rate."""
    own, other = quote(USD, coin, environment=environment), quote(USD, currency, environment=environment)
    with localcontext(prec=60):
        rate = (own.rate / other.rate).quantize(Decimal(1).scaleb(-RATE_DIGITS), rounding=ROUND_FLOOR)
    source = "; ".join(dict.fromkeys((own.source, other.source)))
    return Price(rate, source, min(own.quoted_at, other.quoted_at))


def rate_moment() -> RateMoment:
    """The operator's policy for settlements that are made now."""
    return RateMoment(settings.CONVERSION_RATE)


def agreed_prices(settlement: Settlement, currency: str) -> dict[str, Price]:
    """By coin, what the merchant was promised when the settlement was made; nothing where nothing was promised, or it
    was in another currency."""
    if settlement.rate_moment != RateMoment.WHEN_MADE or settlement.currency != currency:
        return {}
    return {
        part["coin"]: Price(Decimal(part["rate"]), part["source"], datetime.fromisoformat(part["quotedAt"]))
        for part in settlement.coins
        if part["rate"]
    }


def debt_prices(
    coins: Iterable[str], debts: Iterable[tuple[str, str]], *, environment: str
) -> dict[tuple[str, str], Price]:
    """By the coin taken and the coin owed, the prices of those that have one. `debts` are networks and coins."""
    return {
        (coin, owed): price
        for owed in sorted({coin for _, coin in debts})
        for coin, price in known_prices(coins, owed, environment=environment).items()
    }


def known_prices(coins: Iterable[str], currency: str, *, environment: str) -> dict[str, Price]:
    """The prices of those coins that have one, for an estimate."""
    prices = {}
    for coin in sorted(set(coins) - {currency}):
        try:
            prices[coin] = price_of(coin, currency, environment=environment)
        except RateUnavailable:
            continue
    return prices
