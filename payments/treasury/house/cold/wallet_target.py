"""Balances of hot wallets beside their targets, where there is a cold wallet; and refills from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings

from config.environments import Environment
from config.money import Asset
from config.pages import wording
from merchants.ledger.balances import balance
from payments.chains import registry
from payments.transfers.postings import cold_account, hot_account, moving_account
from payments.treasury.house.cold.skims import not_needed


@dataclass(frozen=True, slots=True)
class WalletTarget:
    """One coin of one network, in base units."""

    environment: str
    asset: Asset
    hot_wallet: str
    cold_wallet: str
    sweeps_go_to_cold: bool
    hot: int
    moving: int
    """Of `hot`: on its way to the cold wallet."""
    cold: int
    free: int
    """Of `hot`, what no payout waits for; below zero where payouts lack some."""
    wanted: int
    """Target of the free coins, by the setting."""

    @property
    def to_skim(self) -> int:
        return max(0, self.free - self.wanted)

    @property
    def to_refill(self) -> int:
        return max(0, self.wanted - self.free)

    def shown(self, units: int) -> str:
        return wording.coins(units, self.asset.decimals, self.asset.code)


def floats(environment: str | None = None, network: str | None = None) -> Iterator[WalletTarget]:
    """Every coin of the networks in use that have a cold wallet. Sends no query to a network."""
    for place in registry.places_in_use():
        if (environment is None or place[0] == environment) and (network is None or place[1] == network):
            chain = registry.chain(*place)
            if chain.cold_wallet():
                yield from (_float(place[0], asset) for asset in chain.profile.assets.values())


def _float(environment: str, asset: Asset) -> WalletTarget:
    chain, place = registry.chain(environment, asset.network), (asset.network, asset.code)
    return WalletTarget(
        environment=environment,
        asset=asset,
        hot_wallet=chain.payout_address(),
        cold_wallet=chain.cold_wallet(),
        sweeps_go_to_cold=chain.treasury() == chain.cold_wallet(),
        hot=balance(hot_account(*place), environment=environment),
        moving=balance(moving_account(*place), environment=environment),
        cold=balance(cold_account(*place), environment=environment),
        free=not_needed(environment, asset),
        wanted=int(settings.HOT_WALLET_FLOAT) * int(10**asset.decimals),
    )


def in_use(environment: str = "") -> list[WalletTarget]:
    """Targets with a balance or a target above zero, for pages."""
    wanted = [environment] if environment else Environment.values
    return [each for each in floats() if each.environment in wanted and (each.hot or each.cold or each.to_refill)]
