"""Routing of a merchant's money: the wallets in use, and those that they have replaced. Reads only."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from django.conf import settings

from config.environments import Environment
from config.installation.models import Installation
from merchants.wallets import wallet_key
from payments.merchant_wallets.models import MerchantWallet
from payments.merchant_wallets.states import WalletStatus


@dataclass(frozen=True, slots=True)
class Routing:
    """A merchant's agreements about its wallets. Addresses are compared by `wallet_key`.

    `in_use` is the wallet of each network that has one, `replaced` those that it stands for, `proven` the networks
    whose wallet in use is proven, `lost` those whose key the merchant has lost and whose money is not another's yet.
    """

    in_use: dict[str, str] = field(default_factory=dict)
    replaced: frozenset[tuple[str, str]] = frozenset()
    proven: frozenset[str] = frozenset()
    only_proven: bool = False
    lost: frozenset[tuple[str, str]] = frozenset()

    def destination_of(self, network: str, wallet: str) -> str:
        """The wallet that receives money for this wallet: the one in use when that has replaced it."""
        if (network, wallet_key(wallet)) in self.replaced:
            return self.in_use[network]
        return wallet

    def is_lost(self, network: str, wallet: str) -> bool:
        return (network, wallet_key(wallet)) in self.lost

    def lacks_proof(self, network: str, wallet: str) -> bool:
        """True if the operator lets only proven wallets be paid, and this one is not."""
        if not self.only_proven:
            return False
        own = self.in_use.get(network, "")
        return network not in self.proven or wallet_key(own) != wallet_key(wallet)


def requires_proof(environment: str) -> bool:
    """True if only proven wallets are paid: by the operator's setting, or as the installation began, then in
    production."""
    if settings.REQUIRE_PROVEN_WALLETS is not None:
        return bool(settings.REQUIRE_PROVEN_WALLETS)
    is_real = environment == Environment.PRODUCTION
    return is_real and Installation.objects.filter(requires_proven_wallets=True).exists()


def routing_of(merchant_id: uuid.UUID, environment: str) -> Routing:
    """The routing of a merchant in one environment."""
    used = MerchantWallet.objects.filter(
        merchant=merchant_id,
        environment=environment,
        status__in=[WalletStatus.IN_USE, WalletStatus.REPLACED, WalletStatus.LOST],
    )
    in_use: dict[str, str] = {}
    proven: set[str] = set()
    earlier: set[tuple[str, str]] = set()
    lost: set[tuple[str, str]] = set()
    for network, address, status, proof in used.values_list("network", "address", "status", "proof"):
        if status == WalletStatus.IN_USE:
            in_use[network] = address
            if proof:
                proven.add(network)
        else:
            (lost if status == WalletStatus.LOST else earlier).add((network, wallet_key(address)))
    current = {(network, wallet_key(address)) for network, address in in_use.items()}
    replaced = {key for key in earlier - current - lost if key[0] in in_use}
    return Routing(in_use, frozenset(replaced), frozenset(proven), requires_proof(environment), frozenset(lost))
