"""Money without floats: integers in base units with their asset; decimals only for input and output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext

CRYPTO_DIGITS = 6
"""Fractional digits of amounts that Ballast computes, and the fewest it shows, whatever the coin's decimals."""
_ONE_COIN = 10**CRYPTO_DIGITS
"""Of a coin with as many decimals."""

# fmt: off
_TWO_DIGITS = (
    "USD", "EUR", "GBP", "CHF", "CZK", "DKK", "HUF", "NOK", "PLN", "RON", "SEK", "TRY", "AUD", "BRL", "CAD",
    "CNY", "HKD", "IDR", "ILS", "INR", "MXN", "MYR", "NZD", "PHP", "SGD", "THB", "ZAR", "AED", "SAR", "QAR",
)
# fmt: on

# Minor digits of the fiat currencies Ballast prices in: the euro and the currencies of the ECB's
# reference list, with the Gulf currencies that are pegged to the dollar (ISO 4217, table A.1).
FIAT_DIGITS: dict[str, int] = {
    **dict.fromkeys(_TWO_DIGITS, 2),
    **dict.fromkeys(("JPY", "KRW", "ISK"), 0),
    **dict.fromkeys(("BHD", "OMR"), 3),
}


class AmountNotExact(ValueError):
    """The decimal has more fractional digits than its asset or currency can hold."""


@dataclass(frozen=True, slots=True)
class Asset:
    """A coin on a network. `contract` is the token contract, or `CODE:ISSUER` on stellar."""

    network: str
    code: str
    decimals: int
    contract: str


def to_units(amount: Decimal, decimals: int) -> int:
    """The amount in base units, exactly; AmountNotExact when it does not fit the scale."""
    if not amount.is_finite():
        raise AmountNotExact("not a finite number")
    with localcontext(prec=120):
        scaled = amount.scaleb(decimals)
        if scaled != scaled.to_integral_value():
            raise AmountNotExact(f"more than {decimals} fractional digits")
        return int(scaled)


def from_units(units: int, decimals: int) -> Decimal:
    """The decimal value of an integer amount, exactly."""
    return Decimal(f"{units}E-{decimals}")  # made from text, a decimal is exact whatever the context


def round_up_to_shown(amount: Decimal) -> Decimal:
    """Rounded up to the six digits a payer sees, so that a quote never under-charges."""
    with localcontext(prec=120):
        return amount.quantize(Decimal(1).scaleb(-CRYPTO_DIGITS), rounding=ROUND_CEILING)


def format_crypto(units: int, decimals: int) -> str:
    """`12.500000`: exactly, with at least six fractional digits, so that shown amounts add up as the real ones do.

    Ballast computes in whole millionths: more digits than six appear only in what a payer sent, and in what is left
    of it when everything else has been taken.
    """
    finer = decimals - CRYPTO_DIGITS
    millionths, rest = divmod(abs(units), 10**finer) if finer >= 0 else (abs(units) * 10**-finer, 0)
    shown = "%d.%06d" % divmod(millionths, _ONE_COIN)  # noqa: UP031 - in 0.6 of the time of an f-string
    if rest:
        shown += f"{rest:0{finer}}".rstrip("0")
    return f"-{shown}" if units < 0 else shown


def whole_millionths(units: int, decimals: int) -> int:
    """An amount in base units, rounded down to the six digits that Ballast computes in."""
    step = int(10 ** max(0, decimals - CRYPTO_DIGITS))
    return units // step * step


def converted(units: int, rate: Decimal, from_decimals: int, to_decimals: int) -> int:
    """Base units of a coin as base units of another, at `rate` of the other for one; rounded down."""
    numerator, denominator = rate.as_integer_ratio()
    return units * numerator * int(10**to_decimals) // (denominator * int(10**from_decimals))


def units_worth(units: int, rate: Decimal, from_decimals: int, to_decimals: int) -> int:
    """The fewest base units of a coin that are worth so many of another, at `rate` of the other for one."""
    numerator, denominator = rate.as_integer_ratio()
    return -(-units * denominator * int(10**from_decimals) // (numerator * int(10**to_decimals)))


def apportion(total: int, weights: Sequence[int | Decimal]) -> list[int]:
    """Whole parts of `total` in the proportion of the weights, by largest remainder: they add up to it exactly."""
    with localcontext(prec=200):
        whole = sum(weights, Decimal(0))
        if not whole:
            return [0 for _ in weights]
        exact = [total * Decimal(weight) / whole for weight in weights]
        parts = [int(share.to_integral_value(rounding=ROUND_FLOOR)) for share in exact]
        by_remainder = sorted(range(len(parts)), key=lambda place: parts[place] - exact[place])
        for place in by_remainder[: total - sum(parts)]:
            parts[place] += 1
    return parts


def fiat_share(amount: int, *, fiat_amount: int, due: int, before: int = 0) -> int:
    """Worth of base units of a payment's coin in minor units of its currency: their share of what was due for the
    price, a half rounded up. Every worth that is shown is this one.

    After `before`, what they add to the worth of those: parts of a payment in their order then add up to its worth.
    """

    def worth(units: int) -> int:
        share = (2 * abs(units) * fiat_amount + due) // (2 * due)
        return share if units >= 0 else -share

    return worth(before + amount) - worth(before)


def worth_paid(released: int, *, fiat_amount: int, due: int) -> int:
    """Amount paid for a payment, in minor units of its currency: the worth of the coins the merchant got of it, which
    is at most the price. Of a payment that was paid in full it is the price; an amount waived by a tolerance or an
    acceptance is not in it."""
    return min(fiat_amount, fiat_share(released, fiat_amount=fiat_amount, due=due))
