"""Deposit addresses worth emptying at the fees of this moment. Pure.

A coin is worth about its peg, which is exact enough here; the native coin is worth what the operator has set. Values
are in 10^-18 dollars.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext

from config.coins import USD_SCALE, usd_worth
from config.money import Asset
from payments.chains.protocol.payouts import Costs


@dataclass(frozen=True, slots=True)
class WaitingAddress:
    """A deposit address, and what of one coin waits there to be brought to the hot wallet."""

    payment: uuid.UUID
    sequence: int
    amount: int
    is_new: bool
    """Nothing has emptied it before: the first time costs more."""


@dataclass(frozen=True, slots=True)
class Fees:
    """Cost of emptying addresses, in the native coin and in dollars."""

    costs: Costs
    native: Asset
    native_usd: Decimal

    def of(self, addresses: Sequence[WaitingAddress]) -> int:
        """Cost of one sweep of these addresses, in base units of the native coin."""
        new = sum(address.is_new for address in addresses)
        return self.costs.of_sweep(first_time=new, again=len(addresses) - new)

    def usd(self, units: int) -> int:
        """The value of base units of the native coin, rounded up."""
        with localcontext(prec=120):
            value = self.native_usd * units * Decimal(10) ** (USD_SCALE - self.native.decimals)
            return int(value.to_integral_value(ROUND_CEILING))

    def most_dust(self, asset: Asset) -> tuple[int, int]:
        """The most an address may hold for which taking it along costs as much as it holds, or more: the first time,
        and again."""
        unit = usd_worth(asset.code, 1, asset.decimals)
        return self.usd(self.costs.first_time) // unit, self.usd(self.costs.again) // unit

    def are_paid_by(self, addresses: Sequence[WaitingAddress], asset: Asset) -> bool:
        """True if these addresses hold more than a sweep of them costs."""
        held = sum(address.amount for address in addresses)
        return usd_worth(asset.code, held, asset.decimals) > self.usd(self.of(addresses))
