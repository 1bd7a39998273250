"""The local network that `manage.py devnet` starts: what is known of it beforehand."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import MappingProxyType

from config.coins import COINS
from payments.chains.networks import NETWORKS
from payments.chains.profiles import NetworkProfile, coins
from payments.chains.settings_lookup import settings_of
from payments.chains.stellar.adapter import StellarChain
from payments.chains.stellar.factory import chain_by
from tests.stellar.network import keys

BLOCK_SECONDS = 2.0

URL = f"http://127.0.0.1:{keys.PORT}"
"""Where its Horizon answers."""


def networks() -> tuple[str, ...]:
    """The names of the networks of this family, all of which can run on this machine."""
    return tuple(name for name, each in NETWORKS.items() if each.real.family == "stellar")


@cache
def profile(network: str) -> NetworkProfile:
    """A real network's profile with what the local one has in its place."""
    real = NETWORKS[network].real
    issued = {code: f"{code}:{keys.ISSUERS[code]}" for code in COINS}
    return replace(
        real,
        name=f"{real.name} (local)",
        block_seconds=BLOCK_SECONDS,
        assets=coins(network, real.decimals, **issued),
        explorer="",
        metadata=MappingProxyType({"network_passphrase": keys.PASSPHRASE}),
    )


def chain(profile: NetworkProfile) -> StellarChain:
    """The adapter of the network that `manage.py devnet` runs: it needs no settings."""
    found = replace(
        settings_of(profile.network),
        rpc_urls=(URL,),
        one_may_decide=True,  # a Horizon on this machine, and money of no worth
        hot_wallet=keys.HOT_WALLET,
        hot_wallet_key=keys.HOT_WALLET_KEY,
        key_service="",
        cold_wallet="",
        address_key="",
        signer_url="",
        channels=1,
    )
    return chain_by(profile, found)
