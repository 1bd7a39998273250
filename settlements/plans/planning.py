"""Plans what a run settles, and what it leaves for a later one. Pure.

All amounts are base units. A plan never settles more than there is: the ledger has one account for a merchant's money
of a coin on a network, so negative amounts of some wallets reduce what the others receive.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final, NamedTuple

from config.api.renderers import format_instant
from config.money import converted, from_units, whole_millionths
from payments.rates.quoting import Quote
from settlements.plans.offsetting import OffsetPlan, PlannedOffset, Share, plan_offsets

BASIS_POINTS: Final = 10_000
SMALLEST_CONVERSION: Final = Decimal("0.01")
"""Less than this in the settlement currency is not worth converting: it waits for more of its coin."""


class CarryReason(StrEnum):
    """Reasons for leaving something for a later run."""

    NOTHING_LEFT = "nothing_left"
    FEE_TAKES_REST = "fee_takes_rest"
    BELOW_MINIMUM = "below_minimum"
    WALLET_NOT_ALLOWED = "wallet_not_allowed"
    WALLET_COOLING_OFF = "wallet_cooling_off"
    WALLET_BLOCKED = "wallet_blocked"
    WALLET_NOT_PROVEN = "wallet_not_proven"
    WALLET_LOST = "wallet_lost"
    WALLET_INVALID = "wallet_invalid"
    NO_TRUSTLINE = "no_trustline"
    NETWORK_UNAVAILABLE = "network_unavailable"
    RATE_UNAVAILABLE = "rate_unavailable"
    COINS_MISSING = "coins_missing"


class WalletKey(NamedTuple):
    """A merchant's wallet on a network."""

    network: str
    wallet: str


@dataclass(frozen=True, slots=True)
class Pot:
    """Amounts of one coin that can be settled to one wallet. `refunded` and `reversed` are negative or zero as a rule.

    `paid_to` is the wallet that has replaced it; empty: it is paid itself.
    """

    network: str
    wallet: str
    coin: str
    decimals: int
    paid: int = 0
    """Paid by payers."""
    reversed: int = 0
    """Undone by a reorganisation."""
    refunded: int = 0
    """Refunds, less those that came back."""
    fee_returned: int = 0
    """The part of `refunded` whose fee is given back."""
    charged: int = 0
    """The part of `paid`, `reversed` and `fee_returned` that was charged before: no fee of now is on it."""
    charged_fee: int = 0
    """By how much it changes the fee that was taken, in ten-thousandths of a base unit."""
    returned: int = 0
    """Returned by settlements that failed, and debts that ended without being repaid here, less those owed again."""
    offset: int = 0
    """Repaid of a debt from other coins or networks; below zero: taken to repay one there."""
    payment_count: int = 0
    had_returned: bool = False
    """True if refunds of the merchant have ever given fees back."""
    paid_to: str = ""

    @property
    def wallet_key(self) -> WalletKey:
        """The wallet that is paid."""
        return WalletKey(self.network, self.paid_to or self.wallet)

    @property
    def total(self) -> int:
        return self.paid + self.reversed + self.refunded + self.returned + self.offset


@dataclass(frozen=True, slots=True)
class Terms:
    """The merchant's settings and fee."""

    currency: str
    fee_bps: int = 0
    minimum: Decimal = Decimal(0)
    fee_remainders: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Rounding remainder of earlier fees, by network and coin, in ten-thousandths of a base unit."""
    agrees_rates: bool = False
    """The rate of now is promised, so that a coin without one waits."""


@dataclass(frozen=True, slots=True)
class Totals:
    """In base units of the settlement currency; `gross - fee - refund = amount`, exactly.

    A fee below zero is given back: more of what it was taken on has been undone than came in since.
    """

    gross: int
    fee: int
    refund: int
    amount: int
    offset: int = 0
    """The part of `refund` that repaid debts in other coins or on other networks."""


@dataclass(frozen=True, slots=True)
class CoinPart:
    """One coin of a settlement, in its own base units. `wallets` are those that its money was for."""

    coin: str
    decimals: int
    gross: int
    fee: int
    refund: int
    wallets: tuple[str, ...] = ()
    payment_count: int = 0
    fee_remainder: int = 0
    """By how much this part changes what rounding leaves of fees, in ten-thousandths of a base unit."""
    offset: int = 0
    """The part of `refund` that repaid debts in other coins or on other networks."""
    price: Quote | None = None
    """None for the settlement currency itself, and for an estimate made while there was no rate: at par."""
    market: Quote | None = None
    """Market price at conversion, if another price was agreed."""

    @property
    def net(self) -> int:
        return self.gross - self.fee - self.refund

    def worth(self, units: int, decimals: int) -> int:
        """The value of units of the coin in the settlement currency, which has `decimals`.

        A conversion is rounded to whole millionths towards zero; the settlement currency itself is not.
        """
        if units < 0:
            return -self.worth(-units, decimals)
        if self.price is None:
            return converted(units, Decimal(1), self.decimals, decimals)
        return whole_millionths(converted(units, self.price.rate, self.decimals, decimals), decimals)

    def rounded_off(self, decimals: int) -> int:
        """The net's worth beyond whole millionths, in base units of the settlement currency."""
        if self.price is None:
            return 0
        return converted(self.net, self.price.rate, self.decimals, decimals) - self.worth(self.net, decimals)

    def spread(self, decimals: int) -> int:
        """Gain of the house by the agreed price, in base units of the settlement currency; below zero: its loss."""
        if self.price is None or self.market is None:
            return 0
        worth = (converted(self.net, each.rate, self.decimals, decimals) for each in (self.market, self.price))
        return next(worth) - next(worth)

    def to_record(self, decimals: int) -> dict[str, Any]:
        """The part as stored in `Settlement.coins`."""
        return {
            "coin": self.coin,
            "decimals": self.decimals,
            "gross": str(self.gross),
            "fee": str(self.fee),
            "refund": str(self.refund),
            "offset": str(self.offset),
            "net": str(self.net),
            "rate": f"{self.price.rate:f}" if self.price else "",
            "source": self.price.source if self.price else "",
            "quotedAt": format_instant(self.price.quoted_at) if self.price else "",
            "converted": str(self.worth(self.net, decimals)),
            "marketRate": f"{self.market.rate:f}" if self.market else "",
        }

    @classmethod
    def of_record(cls, record: Mapping[str, Any], *, price: Quote | None, market: Quote | None = None) -> CoinPart:
        """The stored part, at another price."""
        gross, fee, refund, offset = (int(record.get(name, 0)) for name in ("gross", "fee", "refund", "offset"))
        return cls(
            record["coin"], int(record["decimals"]), gross, fee, refund, offset=offset, price=price, market=market
        )


@dataclass(frozen=True, slots=True)
class PlannedSettlement:
    """The payment to one wallet in the settlement currency."""

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
    """Money left for a later run: `amount` base units of a coin, negative when refunds took more than there was."""

    network: str
    wallet: str
    coin: str
    decimals: int
    amount: int
    reason: CarryReason

    def to_record(self) -> dict[str, Any]:
        """The record stored in `SettlementRun.carried_over`."""
        return {
            "network": self.network,
            "wallet": self.wallet,
            "coin": self.coin,
            "decimals": self.decimals,
            "amount": str(self.amount),
            "reason": str(self.reason),
        }


@dataclass(frozen=True, slots=True)
class SettlementFacts:
    """All that a plan depends on. `plans.facts` reads it."""

    pots: Sequence[Pot]
    terms: Terms
    decimals: Mapping[str, int]
    """Of the settlement currency, by network; of the networks that are in use."""
    prices: Mapping[tuple[str, str], Quote]
    """By coin, in the settlement currency and in each coin owed. A coin without one is estimated at par."""
    not_allowed: Collection[WalletKey] = ()
    """Wallets that the merchant's allow list does not have."""
    cooling_off: Collection[WalletKey] = ()
    """Wallets that have been on the allow list, or without it, for too short a time."""
    blocked: Collection[WalletKey] = ()
    """Wallets that could not be paid the last time, until the merchant decides."""
    invalid: Collection[tuple[str, str]] = ()
    """Wallets that are no address of their network, or not a merchant's."""
    waiting: Collection[WalletKey] = ()
    """Wallets that a settlement waits for already, because they do not hold the settlement currency."""
    unproven: Collection[WalletKey] = ()
    """Wallets that nobody has shown to be the merchant's own, where the operator wants that."""
    lost: Collection[WalletKey] = ()
    """Wallets whose key the merchant has lost."""
    held: tuple[CarriedOver, ...] = ()
    """The part of the merchant's balance that is held while its coins are missing on the network."""
    debts: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """The merchant's debts by network and coin, if they are to be repaid from other coins and networks."""
    refusals: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """By network and wallet, the reason the settlement currency could not be paid at the network's last reply; for
    pages, no plan depends on it."""


@dataclass(frozen=True, slots=True)
class Plan:
    settlements: tuple[PlannedSettlement, ...] = ()
    carried_over: tuple[CarriedOver, ...] = ()
    offsets: tuple[PlannedOffset, ...] = ()
    """Repayments of debts in other coins and on other networks, made before anything is paid."""


def plan(facts: SettlementFacts) -> Plan:
    """Plan one settlement for each wallet and coin, and what is left."""
    pots, terms, decimals = facts.pots, facts.terms, facts.decimals
    reasons = {key: reason for key in {pot.wallet_key for pot in pots} if (reason := _why_not(key, facts))}
    offsetting = OffsetPlan()
    if facts.debts:
        payable, owed = _payable(pots, terms, reasons, facts.debts), _owed(pots, facts.debts)
        offsetting = plan_offsets(payable, owed, facts.prices)
        pots = _with_offsets(pots, offsetting.offsets)
    parts: defaultdict[WalletKey, list[CoinPart]] = defaultdict(list)
    waiting: list[tuple[Pot, CarryReason]] = []
    for pool in _pools(pots):
        waits = _why_debts_go_first((pool[0].network, pool[0].coin), offsetting)
        remainder = terms.fee_remainders.get((pool[0].network, pool[0].coin), 0)
        for group in _groups(pool, reasons):
            key = group[0].wallet_key
            price = facts.prices.get((group[0].coin, terms.currency))
            part = _part(group, terms, price, remainder=0 if key in reasons else remainder)
            if key not in reasons:
                remainder = 0  # the first wallet that can be paid takes all of it
            if reason := reasons.get(key) or _why_not_yet(part, terms, decimals[key.network]) or waits:
                waiting += [(pot, reason) for pot in group]
            else:
                parts[key].append(part)

    settlements: list[PlannedSettlement] = []
    known = {(pot.network, pot.wallet, pot.coin): pot for pot in pots}
    for key, coins in sorted(parts.items()):
        settlement = PlannedSettlement(*key, terms.currency, decimals[key.network], tuple(coins))
        if from_units(settlement.totals.amount, settlement.decimals) >= terms.minimum:
            settlements.append(settlement)
            continue
        for part in coins:
            left = [known[key.network, wallet, part.coin] for wallet in part.wallets]
            waiting += [(pot, CarryReason.BELOW_MINIMUM) for pot in left]
    carried = [
        CarriedOver(pot.network, pot.wallet, pot.coin, pot.decimals, pot.total, reasons.get(pot.wallet_key, reason))
        for pot, reason in sorted(waiting, key=lambda left: (left[0].network, left[0].wallet, left[0].coin))
        if pot.total
    ]
    return Plan(tuple(settlements), (*carried, *facts.held), offsetting.offsets)


def total_of(parts: Iterable[CoinPart], decimals: int) -> Totals:
    """The totals: each share of each coin is rounded down, and gross is the sum of the shares, so nothing is left."""
    fee = refund = amount = offset = 0
    for part in parts:
        fee += part.worth(part.fee, decimals)
        refund += part.worth(part.refund, decimals)
        amount += part.worth(part.net, decimals)
        offset += part.worth(part.offset, decimals)
    return Totals(amount + fee + refund, fee, refund, amount, offset)


# --- the parts ---------------------------------------------------------------------------------------


def _why_not(key: WalletKey, facts: SettlementFacts) -> CarryReason | None:
    """The reason this wallet is not paid now, whatever it would receive."""
    found = {
        CarryReason.WALLET_LOST: key in facts.lost,
        CarryReason.NETWORK_UNAVAILABLE: key.network not in facts.decimals,
        CarryReason.WALLET_INVALID: key in facts.invalid,
        CarryReason.WALLET_NOT_ALLOWED: key in facts.not_allowed,
        CarryReason.WALLET_COOLING_OFF: key in facts.cooling_off,
        CarryReason.WALLET_NOT_PROVEN: key in facts.unproven,
        CarryReason.WALLET_BLOCKED: key in facts.blocked,
        CarryReason.NO_TRUSTLINE: key in facts.waiting,
    }
    return next((reason for reason, holds in found.items() if holds), None)


def _why_debts_go_first(pool: tuple[str, str], offsetting: OffsetPlan) -> CarryReason | None:
    """The reason nothing of this coin is paid, whichever wallet it is for: debts elsewhere are left."""
    if pool in offsetting.unpriced:
        return CarryReason.RATE_UNAVAILABLE
    return CarryReason.NOTHING_LEFT if offsetting.unpaid - {pool} else None


def _why_not_yet(part: CoinPart, terms: Terms, decimals: int) -> CarryReason | None:
    """The reason this coin is not paid now."""
    if part.net <= 0:
        return CarryReason.FEE_TAKES_REST if part.gross > part.refund else CarryReason.NOTHING_LEFT
    if part.coin != terms.currency and part.price is None and terms.agrees_rates:
        return CarryReason.RATE_UNAVAILABLE
    worth = from_units(part.worth(part.net, decimals), decimals)
    if part.coin != terms.currency and worth < SMALLEST_CONVERSION:
        return CarryReason.BELOW_MINIMUM
    return None


def _pools(pots: Iterable[Pot]) -> list[list[Pot]]:
    """The pots of all wallets by coin and network, which are one account in the ledger. Sorted by coin."""
    pools: defaultdict[tuple[str, str], list[Pot]] = defaultdict(list)
    for pot in pots:
        pools[pot.coin, pot.network].append(pot)
    return [pool for _, pool in sorted(pools.items())]


def _groups(pool: Iterable[Pot], reasons: Collection[WalletKey]) -> Iterator[list[Pot]]:
    """Groups pots by the wallet that is paid: each that can be, the largest first, with negative ones that it balances.

    What a group lacks is added to the group of the next wallet, so that the payments never exceed the pool. A wallet
    that cannot be paid is a group of its own, and the last group may stay negative.
    """
    by_wallet: defaultdict[WalletKey, list[Pot]] = defaultdict(list)
    for pot in sorted(pool, key=lambda pot: (-pot.total, pot.wallet)):
        by_wallet[pot.wallet_key].append(pot)
    payable: list[list[Pot]] = []
    owing: list[Pot] = []
    for own in sorted(by_wallet.values(), key=lambda own: (-_sum(own), own[0].wallet_key)):
        if _sum(own) < 0:
            owing += own
        elif own[0].wallet_key in reasons:
            yield own
        else:
            payable.append(own)
    for own in payable:
        group = [*own, *owing]
        if _sum(group) > 0:
            yield group
            owing = []
        elif owing:
            owing = group
        else:
            yield group
    if owing:
        yield owing


def _sum(pots: Iterable[Pot]) -> int:
    return sum(pot.total for pot in pots)


def _part(group: Sequence[Pot], terms: Terms, price: Quote | None, *, remainder: int) -> CoinPart:
    """One coin of a settlement. What a reorganisation undid comes off what was gained; refunds are those made.

    What repaid debts elsewhere comes off with the refunds. If more was undone than gained, the difference counts as a
    refund; if more refunds came back than were made, as gross. `remainder` is what rounding has left of earlier fees,
    in ten-thousandths of a base unit.
    """
    coin, decimals = group[0].coin, group[0].decimals
    offset = sum(pot.offset for pot in group)
    gained = sum(pot.paid + pot.reversed + pot.returned for pot in group) + max(0, offset)
    refunded = sum(pot.refunded for pot in group)
    due = sum(_fee_due(pot, terms.fee_bps) for pot in group)
    fee = whole_millionths((due + remainder) // BASIS_POINTS, decimals)
    return CoinPart(
        coin=coin,
        decimals=decimals,
        gross=max(0, gained) + max(0, refunded),
        fee=fee,
        refund=max(0, -gained) + max(0, -refunded) + max(0, -offset),
        wallets=tuple(pot.wallet for pot in group),
        payment_count=sum(pot.payment_count for pot in group),
        fee_remainder=due - fee * BASIS_POINTS,
        offset=max(0, -offset),
        price=price,
    )


def _fee_due(pot: Pot, bps: int) -> int:
    """The fee on what payers paid and no reorganisation undid, in ten-thousandths of a base unit.

    What is undone, or is refunded with its fee, gives back what was taken on it, whatever the merchant's fee is by now.
    """
    return (pot.paid + pot.reversed + pot.fee_returned - pot.charged) * bps + pot.charged_fee


def _payable(
    pots: Sequence[Pot],
    terms: Terms,
    reasons: Collection[WalletKey],
    debts: Collection[tuple[str, str]],
) -> list[Share]:
    """The payable part of each pot, in coins without a debt. The fee stays, to be taken as ever."""
    shares = []
    for pool in _pools(pots):
        if (pool[0].network, pool[0].coin) in debts:
            continue
        remainder = terms.fee_remainders.get((pool[0].network, pool[0].coin), 0)
        for group in _groups(pool, reasons):
            if group[0].wallet_key in reasons:
                continue
            left, remainder = _part(group, terms, None, remainder=remainder).net, 0
            for pot in group:
                if (amount := min(pot.total, left)) > 0:
                    left -= amount
                    shares.append(_share(pot, amount))
    return shares


def _owed(pots: Iterable[Pot], debts: Mapping[tuple[str, str], int]) -> list[Share]:
    """Debts, by the pots that lack the money, the largest first. Coins in their order."""
    shares = []
    for pool in _pools(pots):
        left = debts.get((pool[0].network, pool[0].coin), 0)
        for pot in sorted(pool, key=lambda pot: (pot.total, pot.wallet)):
            if (amount := min(-pot.total, left)) > 0:
                left -= amount
                shares.append(_share(pot, amount))
    return shares


def _with_offsets(pots: Iterable[Pot], offsets: Iterable[PlannedOffset]) -> list[Pot]:
    changes: defaultdict[tuple[str, str, str], int] = defaultdict(int)
    for offset in offsets:
        for share, change in ((offset.taken, -offset.taken.amount), (offset.repaid, offset.repaid.amount)):
            changes[share.network, share.wallet, share.coin] += change
    return [
        replace(pot, offset=pot.offset + changes[pot.network, pot.wallet, pot.coin])
        if (pot.network, pot.wallet, pot.coin) in changes
        else pot
        for pot in pots
    ]


def _share(pot: Pot, amount: int) -> Share:
    return Share(pot.network, pot.wallet, pot.coin, pot.decimals, amount)
