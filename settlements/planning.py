"""What a run settles, and what it leaves for a later one, decided from facts. Pure.

All amounts are base units. Whatever a plan settles is covered: a merchant's money of a coin on a network is one pot in
the books, so what wallets are in the red comes off what others receive before anything is paid out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final, NamedTuple

from config.api.renderers import format_instant
from config.money import from_units, whole_millionths
from merchants.wallets import WalletRules

BASIS_POINTS: Final = 10_000
SMALLEST_CONVERSION: Final = Decimal("0.01")
"""Less than this in the settlement currency is not worth converting: it waits for more of its coin."""


class CarryReason(StrEnum):
    """Why something is left for a later run."""

    NOTHING_LEFT = "nothing_left"
    BELOW_MINIMUM = "below_minimum"
    WALLET_NOT_ALLOWED = "wallet_not_allowed"
    WALLET_COOLING_OFF = "wallet_cooling_off"
    WALLET_BLOCKED = "wallet_blocked"
    WALLET_INVALID = "wallet_invalid"
    NETWORK_UNAVAILABLE = "network_unavailable"
    COINS_MISSING = "coins_missing"


class Place(NamedTuple):
    network: str
    wallet: str


@dataclass(frozen=True, slots=True)
class Pot:
    """What is to be settled of one coin for one wallet. `refunded` and `reversed` take off: mostly negative."""

    network: str
    wallet: str
    coin: str
    decimals: int
    paid: int = 0
    """By payers."""
    reversed: int = 0
    """Undone by a reorganisation."""
    refunded: int = 0
    """Refunds, less those that came back."""
    returned: int = 0
    """By settlements that failed."""
    payment_count: int = 0

    @property
    def place(self) -> Place:
        return Place(self.network, self.wallet)

    @property
    def total(self) -> int:
        return self.paid + self.reversed + self.refunded + self.returned


@dataclass(frozen=True, slots=True)
class Price:
    """What one of a coin is worth in the settlement currency."""

    rate: Decimal
    source: str
    quoted_at: datetime


@dataclass(frozen=True, slots=True)
class Terms:
    """What the merchant chose and agreed to."""

    currency: str
    fee_bps: int = 0
    minimum: Decimal = Decimal(0)
    wallets: WalletRules = field(default_factory=WalletRules)


@dataclass(frozen=True, slots=True)
class Totals:
    """In base units of the settlement currency; `gross - fee - refund = amount`, exactly."""

    gross: int
    fee: int
    refund: int
    amount: int


@dataclass(frozen=True, slots=True)
class CoinPart:
    """One coin of a settlement, in its own base units. `wallets` are those whose money it is made of."""

    coin: str
    decimals: int
    gross: int
    fee: int
    refund: int
    wallets: tuple[str, ...] = ()
    payment_count: int = 0
    price: Price | None = None
    """None for the settlement currency itself, and for an estimate made while there was no rate: at par."""

    @property
    def net(self) -> int:
        return self.gross - self.fee - self.refund

    def worth(self, units: int, decimals: int) -> int:
        """So many units of the coin in the settlement currency, which has so many decimals.

        What is converted is rounded down to whole millionths; the settlement currency itself is taken as it is.
        """
        if self.price is None:
            return converted(units, Decimal(1), self.decimals, decimals)
        return whole_millionths(converted(units, self.price.rate, self.decimals, decimals), decimals)

    def to_record(self, decimals: int) -> dict[str, Any]:
        """What `Settlement.coins` keeps of it."""
        return {
            "coin": self.coin,
            "decimals": self.decimals,
            "gross": str(self.gross),
            "fee": str(self.fee),
            "refund": str(self.refund),
            "net": str(self.net),
            "rate": f"{self.price.rate:f}" if self.price else "",
            "source": self.price.source if self.price else "",
            "quotedAt": format_instant(self.price.quoted_at) if self.price else "",
            "converted": str(self.worth(self.net, decimals)),
        }

    @classmethod
    def of_record(cls, record: Mapping[str, Any], *, price: Price | None) -> CoinPart:
        """The part as it was kept, at another price."""
        gross, fee, refund = (int(record[name]) for name in ("gross", "fee", "refund"))
        return cls(record["coin"], int(record["decimals"]), gross, fee, refund, price=price)


@dataclass(frozen=True, slots=True)
class PlannedSettlement:
    """What one wallet is paid in the settlement currency."""

    network: str
    wallet: str
    currency: str
    decimals: int
    parts: tuple[CoinPart, ...]

    @property
    def totals(self) -> Totals:
        return total_of(self.parts, self.decimals)

    @property
    def payment_count(self) -> int:
        return sum(part.payment_count for part in self.parts)


@dataclass(frozen=True, slots=True)
class CarriedOver:
    """What is left for a later run: `amount` base units of a coin, below zero when refunds took more than there was."""

    network: str
    wallet: str
    coin: str
    decimals: int
    amount: int
    reason: CarryReason

    def to_record(self) -> dict[str, Any]:
        """What `SettlementRun.carried_over` keeps of it."""
        return {
            "network": self.network,
            "wallet": self.wallet,
            "coin": self.coin,
            "decimals": self.decimals,
            "amount": str(self.amount),
            "reason": str(self.reason),
        }


@dataclass(frozen=True, slots=True)
class Plan:
    settlements: tuple[PlannedSettlement, ...] = ()
    carried_over: tuple[CarriedOver, ...] = ()


def plan(
    pots: Sequence[Pot],
    terms: Terms,
    *,
    now: datetime,
    decimals: Mapping[str, int],
    prices: Mapping[str, Price],
    blocked: Collection[Place] = (),
    invalid: Collection[Place] = (),
) -> Plan:
    """What to settle of `pots`, one for each wallet and coin.

    `decimals` are those of the settlement currency by network, of the networks that are in use. `prices` are by coin;
    one without a price is estimated at par. `blocked` are wallets that could not be paid the last time, `invalid`
    those that are no address of their network.
    """
    reasons = {
        place: reason
        for place in {pot.place for pot in pots}
        if (reason := _why_not(place, terms, now, decimals, blocked, invalid))
    }
    parts: defaultdict[Place, list[CoinPart]] = defaultdict(list)
    carried: list[CarriedOver] = []
    for pool in _pools(pots):
        for group in _groups(pool, reasons):
            place, part = group[0].place, _part(group, terms, prices)
            if reason := reasons.get(place) or _why_not_yet(part, terms, decimals[place.network]):
                carried += [_carried(pot, reasons.get(pot.place, reason)) for pot in group]
            else:
                parts[place].append(part)

    settlements: list[PlannedSettlement] = []
    known = {(pot.place, pot.coin): pot for pot in pots}
    for place, coins in sorted(parts.items()):
        settlement = PlannedSettlement(*place, terms.currency, decimals[place.network], tuple(coins))
        if from_units(settlement.totals.amount, settlement.decimals) >= terms.minimum:
            settlements.append(settlement)
            continue
        for part in coins:
            left = [known[Place(place.network, wallet), part.coin] for wallet in part.wallets]
            carried += [_carried(pot, reasons.get(pot.place, CarryReason.BELOW_MINIMUM)) for pot in left]
    carried = [left for left in carried if left.amount]
    return Plan(tuple(settlements), tuple(sorted(carried, key=lambda left: (left.network, left.wallet, left.coin))))


def total_of(parts: Iterable[CoinPart], decimals: int) -> Totals:
    """Each share of each coin rounded down to the settlement currency; gross is their sum, so that nothing is left."""
    fee = refund = amount = 0
    for part in parts:
        fee += part.worth(part.fee, decimals)
        refund += part.worth(part.refund, decimals)
        amount += part.worth(part.net, decimals)
    return Totals(amount + fee + refund, fee, refund, amount)


def converted(units: int, rate: Decimal, from_decimals: int, to_decimals: int) -> int:
    """Base units of a coin as base units of another, at so much of the other for one of it; rounded down."""
    numerator, denominator = rate.as_integer_ratio()
    return units * numerator * int(10**to_decimals) // (denominator * int(10**from_decimals))


# --- the parts ---------------------------------------------------------------------------------------


def _why_not(
    place: Place,
    terms: Terms,
    now: datetime,
    networks: Collection[str],
    blocked: Collection[Place],
    invalid: Collection[Place],
) -> CarryReason | None:
    """Why this wallet is not paid now, whatever it would receive."""
    if place.network not in networks:
        return CarryReason.NETWORK_UNAVAILABLE
    if place in invalid:
        return CarryReason.WALLET_INVALID
    if not terms.wallets.allows(place.wallet):
        return CarryReason.WALLET_NOT_ALLOWED
    if terms.wallets.is_cooling_off(place.wallet, now):
        return CarryReason.WALLET_COOLING_OFF
    return CarryReason.WALLET_BLOCKED if place in blocked else None


def _why_not_yet(part: CoinPart, terms: Terms, decimals: int) -> CarryReason | None:
    """Why this coin is not paid now."""
    if part.net <= 0:
        return CarryReason.NOTHING_LEFT
    worth = from_units(part.worth(part.net, decimals), decimals)
    if part.coin != terms.currency and worth < SMALLEST_CONVERSION:
        return CarryReason.BELOW_MINIMUM
    return None


def _pools(pots: Iterable[Pot]) -> list[list[Pot]]:
    """What the books hold as one pot: all wallets' money of a coin on a network. Sorted by coin."""
    pools: defaultdict[tuple[str, str], list[Pot]] = defaultdict(list)
    for pot in pots:
        pools[pot.coin, pot.network].append(pot)
    return [pool for _, pool in sorted(pools.items())]


def _groups(pool: Iterable[Pot], reasons: Collection[Place]) -> Iterator[list[Pot]]:
    """Each wallet that can be paid with those in the red that it makes up for; the wallet with most goes first.

    What a group lacks, the next wallet makes up for together with it, so that what is paid is never more than the pool.
    A wallet that cannot be paid stands alone, and the last group may be one that nobody makes up for.
    """
    payable, owing = [], []
    for pot in sorted(pool, key=lambda pot: (-pot.total, pot.wallet)):
        if pot.total < 0:
            owing.append(pot)
        elif pot.place in reasons:
            yield [pot]
        else:
            payable.append(pot)
    for pot in payable:
        group = [pot, *owing]
        if sum(member.total for member in group) > 0:
            yield group
            owing = []
        elif owing:
            owing = group
        else:
            yield group
    if owing:
        yield owing


def _part(group: Sequence[Pot], terms: Terms, prices: Mapping[str, Price]) -> CoinPart:
    """The fee is of what payers paid and no reorganisation undid, in whole millionths: the merchant gets the rest.

    What came back more than it went counts as gross.
    """
    coin = group[0].coin
    paid, reversed_ = sum(pot.paid for pot in group), sum(pot.reversed for pot in group)
    off = reversed_ + sum(pot.refunded for pot in group)
    return CoinPart(
        coin=coin,
        decimals=group[0].decimals,
        gross=paid + sum(pot.returned for pot in group) + max(0, off),
        fee=whole_millionths(max(0, paid + reversed_) * terms.fee_bps // BASIS_POINTS, group[0].decimals),
        refund=max(0, -off),
        wallets=tuple(pot.wallet for pot in group),
        payment_count=sum(pot.payment_count for pot in group),
        price=None if coin == terms.currency else prices.get(coin),
    )


def _carried(pot: Pot, reason: CarryReason) -> CarriedOver:
    return CarriedOver(pot.network, pot.wallet, pot.coin, pot.decimals, pot.total, reason)
