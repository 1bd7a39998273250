"""What a transaction offers for each of its operations, in stroops.

The network takes what the cheapest transaction of a ledger offered, from all of them alike: an offer is a limit.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from payments.chains.errors import FeesAboveCap
from payments.chains.stellar.horizon.client import Horizon
from payments.chains.stellar.horizon.providers import Horizons
from payments.chains.stellar.horizon.records import fee_stats

LEAST = 100
"""The network's price of an operation while there is room in ledgers."""

MARGIN = 10
"""An offer is so many times what operations cost now: an idle network charges the least all the same."""

FEE_MULTIPLIER = 10
"""An offer must be so many times that of the transaction whose place in the queue it takes: the network's own rule."""


@dataclass(frozen=True, slots=True)
class Offer:
    """The most that a transaction may cost, and by how many operations that is divided to compare it with others."""

    fee: int
    operations: int

    def to_replace(self) -> int:
        """The lowest offer for each operation that takes the place of this one."""
        return -(-self.fee * FEE_MULTIPLIER // self.operations)


@dataclass(frozen=True, slots=True)
class FeeRules:
    """What the operator allows for an operation."""

    cap: int = 100_000

    def offer(self, *, price: int, replacing: Collection[Offer] = ()) -> int:
        """Enough while the price rises tenfold, and for taking the place of earlier offers.

        FeesAboveCap when not even the price of this moment is within the cap: it comes down again.
        """
        replaced = max([0, *(earlier.to_replace() for earlier in replacing)])
        lowest = max(price, replaced)
        if lowest > self.cap:
            raise FeesAboveCap(f"Fees are above the cap: {lowest} of {self.cap} stroops for an operation.")
        return max(min(price * MARGIN, self.cap), replaced)


def price(horizons: Horizons) -> int:
    """The present price of an operation: the median of Horizons' answers, the lower one of two.

    So no single one drives it up, or stops payouts by a price above the cap. ChainUnavailable when too few give one.
    """
    return horizons.middle(_price)


def _price(horizon: Horizon) -> int:
    """By the last ledgers: in a surge, what most transactions in them were charged."""
    stats = horizon.query(fee_stats, "/fee_stats")
    return max(LEAST, stats.base_fee, stats.fee_charged.get("p70", 0))
