"""What merchants, payers and the house must have after any history, worked out a second time.

It knows the specification and the policy that `docs` states, and nothing of the product: no import, no row, no posting.
It is told what people did and what the chain holds, and says what follows, in base units. A merchant's money of a coin
on a network is one signed number here: above zero it is available, below zero it is owed. Before a run settles
anything, what is owed is repaid from other coins and networks, as docs/settlements.md says.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

PLACES = 6
"""Fees and conversions are in whole millionths."""


@dataclass(frozen=True)
class Coin:
    """A coin on a network: one pot of a merchant's money."""

    network: str
    code: str
    decimals: int

    @property
    def crumb(self) -> int:
        """A hundredth of a coin: less than that beyond a price is the merchant's with it."""
        return int(10 ** (self.decimals - 2))

    def whole_millionths(self, units: int | Fraction) -> int:
        step: int = 10 ** max(0, self.decimals - PLACES)
        return int(units // step) * step


@dataclass(eq=False)
class Gain:
    """Money that became the merchant's by being paid; fees are on this alone. `bps`: the fee that was taken on it."""

    amount: int
    bps: int | None = None
    is_undone: bool = False
    refunded: int = 0
    """By refunds that give the fee back."""

    @property
    def kept(self) -> int:
        return 0 if self.is_undone else self.amount - self.refunded


@dataclass(eq=False)
class Entry:
    """One change of a merchant's money that is in no settlement yet, as a statement shows it."""

    kind: str
    amount: int


@dataclass(eq=False)
class Market:
    """What coins are worth in dollars now: one, until somebody moves it."""

    dollars: dict[str, Fraction] = field(default_factory=dict)

    def rate(self, code: str, other: str) -> Fraction:
        """What one coin is worth in another one, of which twelve digits count."""
        if code == other:
            return Fraction(1)
        worth = self.dollars.get(code, Fraction(1)) / self.dollars.get(other, Fraction(1))
        return Fraction(worth * 10**12 // 1, 10**12)


class House(Counter[tuple[Coin, str]]):
    """What is the operator's in each kind of account: what it has and gains above zero, what it loses below."""

    def move(self, coin: Coin, **kinds: int) -> None:
        for kind, amount in kinds.items():
            self[coin, kind] += amount

    def withdraw(self, coin: Coin, amount: int, *, owed: int) -> None:
        """What was earned goes first, as far as coins are there: not what merchants owe. The rest is of the stock."""
        own = sum(units for (each, _), units in self.items() if each == coin) - owed
        stock = self[coin, "treasury"]
        of_stock = amount - min(amount, max(0, own - stock))
        self.move(coin, withdrawn=of_stock - amount, treasury=-of_stock)


@dataclass(eq=False)
class Settlement:
    """What one wallet is paid; `parts` are gross, fee, refund and net of each coin.

    `rates` are those of the run, and again those of the conversion unless the first were promised.
    """

    network: str
    wallet: str
    currency: str
    bps: int
    parts: dict[Coin, tuple[int, int, int, int]]
    entries: dict[Coin, list[Entry]]
    rates: dict[Coin, Fraction]
    is_promised: bool
    status: str = "pending"
    is_blocking: bool = False
    is_converted: bool = False
    number: int = 0

    @property
    def paid_in(self) -> Coin:
        return Coin(self.network, self.currency, currency_decimals(self.network, self.currency))

    @property
    def converted(self) -> dict[Coin, int]:
        """By coin, what its net is in the settlement currency."""
        return {coin: worth(coin, part[3], self.paid_in, self.rates[coin]) for coin, part in self.parts.items()}

    @property
    def amount(self) -> int:
        return sum(self.converted.values())

    @property
    def reserved(self) -> Counter[Coin]:
        """What waits to be paid, in the coins it is by now."""
        if self.status != "pending":
            return Counter()
        if self.is_converted:
            return Counter({self.paid_in: self.amount})
        return Counter({coin: part[3] for coin, part in self.parts.items()})


def exact_worth(coin: Coin, units: int, other: Coin, rate: Fraction) -> int:
    return int(units * rate * 10**other.decimals // 10**coin.decimals)


def worth(coin: Coin, units: int, other: Coin, rate: Fraction) -> int:
    """In base units of another coin; what is converted is rounded to millionths, towards zero."""
    if coin == other:
        return units
    sign = -1 if units < 0 else 1
    return sign * other.whole_millionths(exact_worth(coin, sign * units, other, rate))


REFUNDS = ("refund", "refund_failed")
OFFSETS = ("debt_offset", "debt_repaid")
"""Entries: what of a coin has repaid a debt elsewhere, and what of a debt has been repaid from elsewhere."""


@dataclass(eq=False)
class Merchant:
    """Its money, and the fees taken of it. `currency` is the coin that settlements are paid in."""

    currency: str
    fee_bps: int
    wallets: dict[str, str]
    """By network, the one in use."""
    house: House
    market: Market
    repays_from_other_coins: bool = True
    """The operator's choice, on unless turned off."""
    money: Counter[Coin] = field(default_factory=Counter)
    gains: dict[Coin, list[Gain]] = field(default_factory=dict)
    unsettled: dict[Coin, list[Entry]] = field(default_factory=dict)
    fee: Counter[Coin] = field(default_factory=Counter)
    offsets: int = 0
    """How often money of one coin has repaid a debt in another, or on another network."""
    settlements: list[Settlement] = field(default_factory=list)
    lost: set[tuple[str, str]] = field(default_factory=set)
    """Networks and wallets whose key is lost, until another one takes their place."""

    def change(self, coin: Coin, kind: str, amount: int) -> None:
        self.money[coin] += amount
        self.unsettled.setdefault(coin, []).append(Entry(kind, amount))

    def gain(self, coin: Coin, kind: str, gain: Gain) -> None:
        self.gains.setdefault(coin, []).append(gain)
        self.change(coin, kind, gain.amount)

    @property
    def owed(self) -> dict[Coin, int]:
        return {coin: -units for coin, units in self.money.items() if units < 0}

    def end_debt(self, coin: Coin, amount: int, how: str) -> None:
        """The operator bears it, or was paid elsewhere; with an amount below zero it is owed again."""
        self.change(coin, f"debt_{how}" if amount > 0 else "debt_owed_again", amount)
        self.house[coin, f"debt:{how}"] -= amount

    # --- settlements ---------------------------------------------------------------------------------

    def is_blocked(self, network: str) -> bool:
        """A wallet whose key is lost gets nothing. One that refused money waits for a decision, unless a later
        settlement has reached it."""
        if (network, self.wallets[network]) in self.lost:
            return True
        same = [each for each in self.settlements if (each.network, each.wallet) == (network, self.wallets[network])]
        reached = max((each.number for each in same if each.status == "completed"), default=-1)
        return any(each.is_blocking and each.number > reached for each in same)

    def settle(self, *, promises_rates: bool = False) -> list[Settlement]:
        """What a run settles of everything up to now: one settlement for each wallet, which is one for each network."""
        made = []
        if self.repays_from_other_coins:
            self._repay_debts()
        owed = self.owed.keys() if self.repays_from_other_coins else set[Coin]()
        for network in sorted({coin.network for coin in self.unsettled}):
            if self.is_blocked(network):
                continue
            here = {coin: entries for coin, entries in self.unsettled.items() if coin.network == network and entries}
            pots = {coin: entries for coin, entries in here.items() if not owed - {coin}}  # debts elsewhere go first
            parts = {coin: part for coin, entries in pots.items() if (part := self._part(coin, entries))}
            if not parts:
                continue
            entries = {coin: self.unsettled.pop(coin) for coin in parts}
            for coin, part in parts.items():
                self.fee[coin] += part[1]
                self.house[coin, "fee:service"] += part[1]
                self.money[coin] -= part[3] + part[1]
                for gain in self.gains.get(coin, ()):
                    gain.bps = self.fee_bps if gain.bps is None else gain.bps
            settlement = Settlement(
                network,
                self.wallets[network],
                self.currency,
                self.fee_bps,
                parts,
                entries,
                rates={coin: self.market.rate(coin.code, self.currency) for coin in parts},
                is_promised=promises_rates,
                number=len(self.settlements),
            )
            self.settlements.append(settlement)
            made.append(settlement)
        return made

    def _repay_debts(self) -> None:
        """What could be paid repays what is owed: the same coin first, else coins of the network of the debt first."""
        debts = dict(sorted(self.owed.items(), key=lambda item: by_name(item[0])))
        payable = {coin: self._payable(coin) for coin in sorted(self.unsettled, key=by_name)}
        money = {coin: units for coin, units in payable.items() if units > 0 and coin not in debts}

        def distance(pair: tuple[Coin, Coin]) -> tuple[bool, bool]:
            return pair[0].code != pair[1].code, pair[0].network != pair[1].network

        for source, debt in sorted(((source, debt) for debt in debts for source in money), key=distance):
            rate = self.market.rate(source.code, debt.code)
            is_worth = exact_worth(source, money[source], debt, rate)
            repaid = debts[debt] if is_worth >= debts[debt] else debt.whole_millionths(is_worth)
            if not repaid:
                continue
            fewest = -int(-repaid * 10**source.decimals / rate // 10**debt.decimals)
            taken = min(money[source], -source.whole_millionths(-fewest))
            rounding = exact_worth(source, taken, debt, rate) - repaid
            money[source] -= taken
            debts[debt] -= repaid
            self.offsets += 1
            self.change(source, "debt_offset", -taken)
            self.change(debt, "debt_repaid", repaid)
            self.house[source, "debt:offset"] += taken
            self.house[debt, "debt:offset"] -= repaid + rounding
            self.house[debt, "rounding"] += rounding

    def _payable(self, coin: Coin) -> int:
        """What of a coin could be paid now; the fee stays, to be taken as ever."""
        entries = self.unsettled[coin]
        gross, _, refund, net = self._figures(coin, entries)
        return 0 if self.is_blocked(coin.network) else min(gross - refund, net)

    def _figures(self, coin: Coin, entries: list[Entry]) -> tuple[int, int, int, int]:
        """Gross, fee, refund and net. What repaid a debt elsewhere comes off as refunds do."""
        refunded = sum(each.amount for each in entries if each.kind in REFUNDS)
        offset = sum(each.amount for each in entries if each.kind in OFFSETS)
        gained = sum(each.amount for each in entries if each.kind not in (*REFUNDS, *OFFSETS)) + max(0, offset)
        gross = max(0, gained) + max(0, refunded)
        refund = max(0, -gained) + max(0, -refunded) + max(0, -offset)
        fee = coin.whole_millionths(Fraction(self._fee_in_all(coin), 10_000)) - self.fee[coin]
        return gross, fee, refund, gross - fee - refund

    def _part(self, coin: Coin, entries: list[Entry]) -> tuple[int, int, int, int] | None:
        gross, fee, refund, net = self._figures(coin, entries)
        if net <= 0:
            return None
        paid_in = Coin(coin.network, self.currency, currency_decimals(coin.network, self.currency))
        is_worth = worth(coin, net, paid_in, self.market.rate(coin.code, self.currency))
        if coin != paid_in and is_worth * 100 < 10**paid_in.decimals:
            return None  # less than a hundredth is not worth converting
        return gross, fee, refund, net

    def _fee_in_all(self, coin: Coin) -> int:
        """Over the whole history the fee is the rate times what is kept: that of its settlement, or that of now."""
        gains = self.gains.get(coin, ())
        return sum(gain.kept * (self.fee_bps if gain.bps is None else gain.bps) for gain in gains)

    def convert(self, settlement: Settlement) -> None:
        """Its other coins go into the stock, and the settlement currency comes out of it."""
        settlement.is_converted, paid_in = True, settlement.paid_in
        for coin, part in settlement.parts.items():
            if coin == paid_in:
                continue
            now = self.market.rate(coin.code, paid_in.code)
            if not settlement.is_promised:
                settlement.rates[coin] = now
            gets = exact_worth(coin, part[3], paid_in, settlement.rates[coin])
            rounding = gets - settlement.converted[coin]
            spread = exact_worth(coin, part[3], paid_in, now) - gets
            self.house[coin, "treasury"] += part[3]
            self.house.move(paid_in, treasury=-gets, rounding=rounding, spread=spread)
            self.house[paid_in, "spread:stock"] -= spread

    def complete(self, settlement: Settlement) -> None:
        settlement.status = "completed"

    def fail(self, settlement: Settlement, *, is_blocking: bool) -> None:
        """The money comes back, converted or not, and is settled again without a fee."""
        back = settlement.reserved
        settlement.status, settlement.is_blocking = "failed", is_blocking
        for coin, amount in back.items():
            self.change(coin, "settlement_failed", amount)

    def retry(self, network: str, wallet: str) -> None:
        for each in self.settlements:
            if (each.network, each.wallet) == (network, wallet):
                each.is_blocking = False


def by_name(coin: Coin) -> tuple[str, str]:
    return coin.code, coin.network


def currency_decimals(network: str, code: str) -> int:
    """As the specification of each coin says: 7 digits on stellar, 18 of DAI elsewhere, else 6."""
    if network == "stellar":
        return 7
    return 18 if code == "DAI" else 6
