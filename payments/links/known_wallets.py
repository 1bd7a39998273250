"""The wallets that a merchant's money goes to already, so that nobody who takes payments has to type one."""

from __future__ import annotations

from config.samples import SANDBOX_WALLET
from merchants.models import Merchant
from merchants.wallets import wallet_key
from payments.chains import registry
from payments.chains.errors import InvalidAddress
from payments.links.models import PaymentLink
from payments.merchant_wallets.routing import routing_of
from payments.models import Payment

LATEST = 200
"""So many of the newest payments and links are looked at."""


def known_wallets(merchant: Merchant, environment: str) -> dict[str, list[str]]:
    """By network, the wallet that the merchant has named for it, those of payments and links, and of the allow list.

    The named one comes first, then the one used last; those that it has replaced are left out. On simulated networks
    where none is in use, the one that the examples name.
    """
    links = PaymentLink.objects.of(merchant, environment).order_by("-id").values_list("wallets", flat=True)[:LATEST]
    payments = Payment.objects.of(merchant, environment).order_by("-id")
    used = [
        *payments.values_list("network", "merchant_wallet")[:LATEST],
        *((network, wallet) for wallets in links for network, wallet in wallets.items()),
    ]
    allowed: list[str] = merchant.settings.get(environment=environment).wallet_allow_list
    permitted = {wallet_key(wallet) for wallet in allowed}
    routing = routing_of(merchant.pk, environment)
    found: dict[str, list[str]] = {}
    for network in registry.networks(environment):
        named = [routing.in_use[network]] if network in routing.in_use else []
        own = [*named, *(routing.destination_of(used_on, wallet) for used_on, wallet in used if used_on == network)]
        candidates = dict.fromkeys([*own, *(wallet for wallet in allowed if _fits(environment, network, wallet))])
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
