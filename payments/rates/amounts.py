"""The amounts that payments may be priced at."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal, localcontext

from config.coins import USD
from config.errors import InvalidParameter
from config.money import FIAT_DIGITS, AmountNotExact, to_units
from payments.rates.quoting import quote

LARGEST_WORTH = Decimal(1_000_000)
"""In dollars: whatever its currency, a payment is worth no more."""

MAX_FIAT_AMOUNT = Decimal(10**12)
"""In units of whatever currency: what forms and requests take before anybody looks at the rate."""


def fiat_units(amount: Decimal, currency: str, *, param: str = "amount") -> int:
    """A price in minor units of its currency; InvalidParameter when the currency cannot hold it exactly."""
    digits = FIAT_DIGITS.get(currency)
    if digits is None:
        raise InvalidParameter(f"{currency} is not a currency payments can be priced in.", param="currency")
    try:
        return to_units(amount, digits)
    except AmountNotExact:
        allowed = f"at most {digits} decimal places" if digits else "no decimal places"
        raise InvalidParameter(f"An amount in {currency} has {allowed}.", param=param) from None


def largest_amount(currency: str, *, environment: str, coin: str = "USDC") -> Decimal:
    """The most that a payment may be priced at, in whole units of the currency at the current rate.

    RateUnavailable when there is none. The coin only selects the quotes by which dollars and the currency are compared.
    """
    if currency == USD:
        return LARGEST_WORTH
    own, dollar = quote(currency, coin, environment=environment), quote(USD, coin, environment=environment)
    with localcontext(prec=60):
        return (LARGEST_WORTH * own.rate / dollar.rate).to_integral_value(ROUND_HALF_EVEN)


def require_worth(
    amount: Decimal, currency: str, *, environment: str, coin: str = "USDC", param: str = "amount"
) -> None:
    """InvalidParameter, with the figure, when the amount is worth more than a payment may be."""
    largest = largest_amount(currency, environment=environment, coin=coin)
    if amount > largest:
        worth = "" if currency == USD else f" {currency}: as much as {LARGEST_WORTH:,} USD at the current rate"
        raise InvalidParameter(f"Must be at most {largest:,}{worth}.", param=param)
