"""What a transaction offers for its gas (EIP-1559), in base units of the network's coin for each unit of gas. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from payments.chains.errors import FeesAboveCap

GWEI = 10**9

# Nodes require a tenth more to replace a pending transaction, some an eighth.
_BUMP_NUMERATOR, _BUMP_DENOMINATOR = 9, 8

TIP_RISES, TIP_ALWAYS = 3, 2 * GWEI
"""A tip is believed up to so many times what was paid in the last blocks, and as much as that whatever was paid."""


@dataclass(frozen=True, slots=True)
class Offer:
    max_fee: int
    tip: int

    def raised(self) -> Offer:
        """The lowest offer every node takes in place of this one."""
        return Offer(_an_eighth_more(self.max_fee), _an_eighth_more(self.tip))


@dataclass(frozen=True, slots=True)
class FeeRules:
    """What the operator allows."""

    tip_floor: int = 0
    cap: int = 200 * GWEI

    def price(self, *, base_fee: int, usual_tip: int) -> int:
        """What a unit of gas costs in the end while the base fee stays as it is: an offer leaves it room to rise."""
        return base_fee + max(usual_tip, self.tip_floor, 1)

    def offer(self, *, base_fee: int, usual_tip: int, replacing: Collection[Offer] = ()) -> Offer:
        """Enough for a base fee that doubles, and for taking the place of earlier offers in both its parts.

        FeesAboveCap when that is more than the cap: prices come down again, and what waits stays good.
        """
        raised = [earlier.raised() for earlier in replacing]
        tip = max([usual_tip, self.tip_floor, 1, *(offer.tip for offer in raised)])
        max_fee = max([2 * base_fee + tip, *(offer.max_fee for offer in raised)])
        lowest = max([base_fee + tip, *(offer.max_fee for offer in raised)])
        if lowest > self.cap:
            raise FeesAboveCap(f"Fees are above the cap: {lowest / GWEI:.1f} of {self.cap / GWEI:.1f} gwei.")
        return Offer(min(max_fee, self.cap), tip)


def believable_tip(*, reported: int, paid: int) -> int:
    """The usual tip as reported now, where the last blocks confirm it; else the highest that they confirm."""
    return min(reported, max(TIP_RISES * paid, TIP_ALWAYS))


def with_margin(gas: int) -> int:
    """A limit for what was estimated: the state may change before it is mined."""
    return gas + gas // 5


def _an_eighth_more(price: int) -> int:
    return -(-price * _BUMP_NUMERATOR // _BUMP_DENOMINATOR)
