"""Amount of a payment that can be refunded, in its currency and in coins, and the share that a refund takes. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from config.money import fiat_share, whole_millionths, worth_paid


@dataclass(frozen=True, slots=True)
class Quote:
    """A payment's original quote: `rate` is the price of one coin in the currency."""

    rate: Decimal
    fiat_digits: int
    decimals: int

    def units_for(self, fiat: int) -> int:
        """Base units of the coin that an amount in minor units of the currency bought, rounded down to millionths."""
        coins = Fraction(fiat, 10**self.fiat_digits) / Fraction(self.rate)
        return whole_millionths(int(coins * 10**self.decimals), self.decimals)

    def fiat_for(self, units: int) -> int:
        """Minor units of the currency that bought so many base units: the inverse of `units_for`."""
        worth = Fraction(units, 10**self.decimals) * Fraction(self.rate)
        return -int(-worth * 10**self.fiat_digits // 1)


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a payment's money: `fiat` in minor units of the currency, `units` in base units of the coin."""

    fiat: int
    units: int


def all_that_is_left(*, price: int, due: int, released: int, refundable: int, refunded: int) -> Share:
    """Remaining refundable share of a payment.

    `price` and `refunded` are in the currency: the price of the payment, and earlier refunds. `due`, `released` and
    `refundable` are in base units. After a reorganisation, or with a tolerance, it can be less than the price.
    """
    paid = worth_paid(released, fiat_amount=price, due=due)
    left = min(paid - refunded, fiat_share(refundable, fiat_amount=price, due=due))
    return Share(fiat=max(0, left), units=max(0, refundable))


def take(requested: int | None, left: Share, quote: Quote) -> Share | None:
    """Share that a refund of so much of the currency takes; None when more is requested than is left.

    Coins are rounded down, so refunds in parts can never add up to more than was received. A refund of all that is left
    takes every base unit, so that nothing stays behind.
    """
    if requested is None or requested == left.fiat:
        return left if left.units else None
    if requested > left.fiat:
        return None
    return Share(fiat=requested, units=quote.units_for(requested))
