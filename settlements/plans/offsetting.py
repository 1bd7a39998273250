"""Plans what of a merchant's money repays the merchant's debts in other coins and on other networks. Pure.

In the same coin on the same network the ledger itself repays debts first; here are those that it cannot reach.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from config.money import converted, units_worth, whole_millionths
from payments.rates.quoting import Quote

PAR: Final = Decimal(1)
"""A coin is worth as much on one network as on another."""


@dataclass(frozen=True, slots=True)
class Share:
    """Some of a coin on a network, in base units, that is one wallet's, or owed for it."""

    network: str
    wallet: str
    coin: str
    decimals: int
    amount: int


@dataclass(frozen=True, slots=True)
class PlannedOffset:
    """Money taken from a merchant in one coin, and the debt it repays in another coin or on another network."""

    taken: Share
    repaid: Share
    rounding: int = 0
    """Worth of the coin taken beyond the debt it repays, in base units of the coin that was owed."""
    price: Quote | None = None
    """Worth of one of the coin taken in the coin that was owed; None for the same coin, at par."""

    @property
    def rate(self) -> Decimal:
        return self.price.rate if self.price else PAR


@dataclass(frozen=True, slots=True)
class OffsetPlan:
    offsets: tuple[PlannedOffset, ...] = ()
    unpriced: frozenset[tuple[str, str]] = frozenset()
    """Networks and coins of money for which there is no rate to a debt that is left."""
    unpaid: frozenset[tuple[str, str]] = frozenset()
    """Networks and coins in which debts are left: until they are repaid, nothing is paid in any other."""


def plan_offsets(money: Sequence[Share], debts: Sequence[Share], prices: Mapping[tuple[str, str], Quote]) -> OffsetPlan:
    """Match `money` to `debts`: in the same coin first, else on the same network first.

    `prices` are by the coin taken and the coin owed. A pair of coins without one is left alone, never guessed.
    """
    left_of_money, left_of_debts = list(money), list(debts)
    offsets: list[PlannedOffset] = []
    pairs = [(source, debt) for debt in range(len(debts)) for source in range(len(money))]

    def distance(pair: tuple[int, int]) -> tuple[bool, bool]:
        one, other = money[pair[0]], debts[pair[1]]
        return one.coin != other.coin, one.network != other.network

    for source, debt in sorted(pairs, key=distance):
        offset = _offset(left_of_money[source], left_of_debts[debt], prices)
        if offset is None:
            continue
        offsets.append(offset)
        of_money, of_debt = left_of_money[source], left_of_debts[debt]
        left_of_money[source] = replace(of_money, amount=of_money.amount - offset.taken.amount)
        left_of_debts[debt] = replace(of_debt, amount=of_debt.amount - offset.repaid.amount)
    unpriced = {
        (source.network, source.coin)
        for source in left_of_money
        for debt in left_of_debts
        if source.amount and debt.amount and source.coin != debt.coin and (source.coin, debt.coin) not in prices
    }
    unpaid = {(debt.network, debt.coin) for debt in left_of_debts if debt.amount}
    return OffsetPlan(tuple(offsets), frozenset(unpriced), frozenset(unpaid))


def _offset(source: Share, debt: Share, prices: Mapping[tuple[str, str], Quote]) -> PlannedOffset | None:
    """The offset of this source against this debt; None when it repays nothing, or there is no price."""
    price = None if source.coin == debt.coin else prices.get((source.coin, debt.coin))
    if price is None and source.coin != debt.coin:
        return None
    rate = price.rate if price else PAR
    worth = converted(source.amount, rate, source.decimals, debt.decimals)
    # A part of a debt is repaid in whole millionths, and the rest of a debt to its last unit.
    repaid = debt.amount if worth >= debt.amount else whole_millionths(worth, debt.decimals)
    if not repaid:
        return None
    # What is taken are whole millionths as well, or all that there is.
    fewest = units_worth(repaid, rate, source.decimals, debt.decimals)
    taken = min(source.amount, -whole_millionths(-fewest, source.decimals))
    rounding = converted(taken, rate, source.decimals, debt.decimals) - repaid
    return PlannedOffset(replace(source, amount=taken), replace(debt, amount=repaid), rounding, price)
