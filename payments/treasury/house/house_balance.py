"""The house's own balance: of each coin of each network, the sum of its accounts, less what is owed to it.

Coins = what is owed to others + the house's own, as the ledger sums to zero. So the house's own is what its accounts
come to; what merchants owe, and missing coins that nobody has decided about, are no coins and are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Sum

from config.money import Asset
from config.pages import wording
from merchants.ledger.chart import AccountKind, Group, kinds_where
from merchants.ledger.models import Account
from merchants.ledger.posting import AccountRef, lock_accounts
from payments.chains import registry
from payments.treasury.house.postings import house_accounts
from payments.treasury.losses.models import MissingCoins, MissingStatus


@dataclass(frozen=True, slots=True)
class HouseBalance:
    """One coin of one network, in base units. `accounts` are natural balances by kind, the house's alone."""

    environment: str
    network: str
    asset: str
    decimals: int
    is_native: bool
    """True if it pays network fees, and cannot be withdrawn."""
    accounts: Mapping[str, int]
    receivable: int
    """Debts of merchants in it."""
    missing: int
    """Coins missing on the network, until it is decided who bears it."""
    coins: int
    """Coins that are held, whoever's they are."""

    @property
    def total(self) -> int:
        """Sum of its accounts."""
        return -sum(AccountKind(kind).rules.side.value * amount for kind, amount in self.accounts.items())

    @property
    def own(self) -> int:
        """The house's own coins; below zero where it lacks some that it owes."""
        return self.total - self.receivable - self.missing

    @property
    def withdrawable(self) -> int:
        return 0 if self.is_native else max(0, self.own)

    @property
    def stock(self) -> int:
        """The stock that conversions are paid out of."""
        return self.accounts.get(AccountKind.TREASURY, 0)

    @property
    def owed(self) -> int:
        """The part that belongs to others."""
        return self.coins + self.receivable - self.total

    def of_stock(self, amount: int) -> int:
        """Part of a withdrawal that comes out of the stock: what was earned goes first."""
        return amount - min(amount, max(0, self.own - self.stock))

    def shown(self, units: int) -> str:
        return wording.coins(units, self.decimals, self.asset)


def house_balances(environment: str) -> list[HouseBalance]:
    """Every coin of which the house has, had or lacks something, the networks in their order."""
    return [found for found in _balances(environment=environment) if any(found.accounts.values()) or found.receivable]


def house_balance(environment: str, asset: Asset) -> HouseBalance:
    """One coin. Before deciding by it, lock it: `lock_house`."""
    found = _balances(environment=environment, network=asset.network, asset=asset.code)
    return (
        found[0] if found else HouseBalance(environment, asset.network, asset.code, asset.decimals, False, {}, 0, 0, 0)
    )


def lock_house(environment: str, asset: Asset, *others: AccountRef) -> HouseBalance:
    """The same, with all accounts of the house locked until the database transaction ends, and these others too.

    What merchants owe is not locked: a reorganisation that takes coins away a moment later is one that comes later.
    """
    lock_accounts([*house_accounts(asset.network, asset.code), *others], environment=environment)
    return house_balance(environment, asset)


def _balances(**place: str) -> list[HouseBalance]:
    equity, coins = kinds_where(group=Group.EQUITY), kinds_where(on_chain=True)
    wanted = Account.objects.filter(kind__in=[*equity, *coins, AccountKind.MERCHANT_RECEIVABLE], **place)
    held: defaultdict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for network, code, kind, signed in wanted.values_list("network", "asset", "kind").annotate(Sum("balance")):
        held[network, code][kind] = AccountKind(kind).rules.natural(int(signed))
    open_now = MissingCoins.objects.filter(status=MissingStatus.OPEN, **place)
    missing = {
        (network, code): int(total)
        for network, code, total in open_now.values_list("network", "asset").annotate(Sum("amount"))
    }
    return [
        _balance(place["environment"], network, code, by_kind, missing.get((network, code), 0))
        for (network, code), by_kind in sorted(held.items())
    ]


def _balance(environment: str, network: str, code: str, held: Mapping[str, int], missing: int) -> HouseBalance:
    equity, coins = kinds_where(group=Group.EQUITY), kinds_where(on_chain=True)
    native = registry.known_profile(environment, network).native
    is_native = code == native.code
    return HouseBalance(
        environment=environment,
        network=network,
        asset=code,
        decimals=native.decimals if is_native else registry.decimals(environment, network, code),
        is_native=is_native,
        accounts={kind: held[kind] for kind in equity if kind in held},
        receivable=held.get(AccountKind.MERCHANT_RECEIVABLE, 0),
        missing=missing,
        coins=sum(held.get(kind, 0) for kind in coins),
    )
