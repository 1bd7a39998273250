"""The wallets that somebody who may has named for a merchant, so that nobody who takes payments has to type one."""

from __future__ import annotations

from config.pages.samples import SANDBOX_WALLET
from merchants.models import Merchant
from merchants.wallets import wallet_key
from payments.chains import registry
from payments.chains.errors import InvalidAddress
from payments.merchant_wallets.routing import routing_of


def own_wallets(merchant: Merchant, environment: str) -> dict[str, str]:
    """The wallet in use on each network; on simulated ones the sample's, for a merchant who has named none at all."""
    in_use = {name: each for name, each in routing_of(merchant.pk, environment).in_use.items() if each}
    if in_use or not registry.is_simulated(environment):
        return {name: each for name, each in in_use.items() if name in registry.networks(environment)}
    return {name: wallets[0] for name, wallets in known_wallets(merchant, environment).items() if wallets}


def known_wallets(merchant: Merchant, environment: str) -> dict[str, list[str]]:
    """By network, the wallet in use and those of the allow list, which only an owner or an admin can name.

    Payments and links name wallets too, but whoever holds a key of a developer can make them, so they count for
    nothing. On simulated networks where none is named, it is the one that the examples name.
    """
    allowed: list[str] = merchant.settings.get(environment=environment).wallet_allow_list
    permitted = {wallet_key(wallet) for wallet in allowed}
    routing = routing_of(merchant.pk, environment)
    found: dict[str, list[str]] = {}
    for network in registry.networks(environment):
        named = [routing.in_use[network]] if network in routing.in_use else []
        candidates = dict.fromkeys([*named, *(wallet for wallet in allowed if _fits(environment, network, wallet))])
        found[network] = [wallet for wallet in candidates if not permitted or wallet_key(wallet) in permitted]
        if not found[network] and not allowed and _fits(environment, network, SANDBOX_WALLET):
            found[network] = [SANDBOX_WALLET] if registry.is_simulated(environment) else []
    return found


def _fits(environment: str, network: str, wallet: str) -> bool:
    try:
        registry.chain(environment, network).parse_address(wallet)
    except InvalidAddress:
        return False
    return True
