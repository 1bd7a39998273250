"""A payer's choice: one coin on one network."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal

from django.utils.translation import gettext

from config.coins import COINS, coin_name
from payments.chains import registry
from payments.chains.networks import NETWORKS


@dataclass(frozen=True, slots=True)
class Choice:
    """A coin on a network that something can be paid with."""

    network: str
    coin: str
    network_name: str

    @property
    def value(self) -> str:
        """The choice's value in a form."""
        return f"{self.network}:{self.coin}"

    @property
    def words(self) -> str:
        return gettext("%(coin)s on %(network)s") % {"coin": self.coin, "network": self.network_name}

    @property
    def coin_name(self) -> str:
        return coin_name(self.coin)


def choices_among(environment: str, networks: Collection[str], coins: Collection[str]) -> list[Choice]:
    """Every coin on every one of these networks that is in use now, the usually cheapest network first; without any
    coins, all coins count."""
    in_use = registry.networks(environment)
    found = []
    for network in sorted((name for name in NETWORKS if name in networks and name in in_use), key=_usual_cost):
        profile = registry.profile(environment, network)
        found += [
            Choice(network, coin, profile.name)
            for coin in COINS
            if coin in profile.assets and (not coins or coin in coins)
        ]
    return found


def _usual_cost(network: str) -> Decimal:
    return Decimal(NETWORKS[network].real.transfer_usd)
