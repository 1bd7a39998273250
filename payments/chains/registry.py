"""Which networks and coins are in use in each environment, and the adapter that speaks to each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.environments import Environment
from config.errors import DomainError
from config.money import Asset
from payments.chains.base import Chain, InvalidAddress, NetworkProfile
from payments.chains.evm.configuration import devnet_chain, evm_chain
from payments.chains.evm.development import devnet
from payments.chains.networks import COINS, ETHEREUM, NETWORKS, POLYGON, REAL_PROFILES, STELLAR, STELLAR_DECIMALS
from payments.chains.simulated.adapter import SimulatedChain
from payments.chains.simulated.networks import simulated_profile
from payments.chains.stellar import addresses as stellar_addresses

Adapter = Callable[[NetworkProfile], Chain]

# Adapters of the real networks: one line each.
REAL_ADAPTERS: Mapping[str, Adapter] = {
    ETHEREUM: evm_chain,
    POLYGON: evm_chain,
}

SIMULATED, DEVNET = "simulated", "devnet"
_SANDBOX_NETWORKS = {SIMULATED: NETWORKS, DEVNET: tuple(devnet.PORTS)}
"""What the sandbox runs on: rows in the database, or the nodes that `manage.py devnet` starts on this machine."""


class UnsupportedNetwork(DomainError):
    """No adapter speaks to this network in this environment."""

    code = "network_unavailable"
    message = "This network is not available."


class UnsupportedAsset(DomainError):
    """The network is in use, but this coin is not accepted on it."""

    code = "unsupported_asset"
    message = "This coin is not accepted on this network."


def networks(environment: str) -> tuple[str, ...]:
    """The names of the networks in use."""
    if environment == Environment.SANDBOX:
        return _SANDBOX_NETWORKS[_sandbox_chain()]
    configured: list[str] = settings.PRODUCTION_NETWORKS
    if missing := sorted(set(configured) - REAL_ADAPTERS.keys()):
        raise ImproperlyConfigured(f"PRODUCTION_NETWORKS names networks without an adapter: {', '.join(missing)}.")
    return tuple(network for network in NETWORKS if network in configured)


def profile(environment: str, network: str) -> NetworkProfile:
    """What is always true of a network in use; UnsupportedNetwork for any other."""
    in_use = networks(environment)
    if network not in in_use:
        raise UnsupportedNetwork(_not_in_use(environment, network, in_use), param="network")
    if environment == Environment.SANDBOX:
        return devnet.profile(network) if _sandbox_chain() == DEVNET else simulated_profile(network)
    return real_profile(network)


def chain(environment: str, network: str) -> Chain:
    """The adapter of a network in use; UnsupportedNetwork for any other."""
    found = profile(environment, network)
    if environment == Environment.SANDBOX:
        return devnet_chain(network) if _sandbox_chain() == DEVNET else SimulatedChain(found)
    return REAL_ADAPTERS[network](found)


def asset(environment: str, network: str, code: str) -> Asset:
    """The accepted coin of this name; UnsupportedAsset says which are accepted instead."""
    accepted = profile(environment, network).assets
    if code not in accepted:
        raise UnsupportedAsset(
            f"{code} is not accepted on {network}; accepted are {', '.join(accepted)}.", param="cryptocurrency"
        )
    return accepted[code]


def decimals(environment: str, network: str, code: str) -> int:
    """The scale of a coin's amounts, in use or not: money received before a network was turned off is still shown."""
    if network == STELLAR:
        return STELLAR_DECIMALS  # of every coin there, also of one whose issuer is trusted no longer
    known = simulated_profile(network) if environment == Environment.SANDBOX else REAL_PROFILES[network]
    return known.assets[code].decimals


def is_simulated(environment: str) -> bool:
    """Whether rows in the database stand in for the networks there: no node answers, and no wallet knows them."""
    return environment == Environment.SANDBOX and _sandbox_chain() == SIMULATED


def real_profile(network: str) -> NetworkProfile:
    """A real network's data, with the stellar issuers that the operator trusts added."""
    found = REAL_PROFILES[network]
    if network != STELLAR:
        return found
    issued = dict(found.assets)
    for code, issuer in settings.STELLAR_ISSUERS.items():
        issued[code] = Asset(STELLAR, code, STELLAR_DECIMALS, f"{code}:{_checked_issuer(code, issuer)}")
    return replace(found, assets={code: issued[code] for code in COINS if code in issued})


def _sandbox_chain() -> str:
    found: str = settings.SANDBOX_CHAIN
    if found not in _SANDBOX_NETWORKS:
        raise ImproperlyConfigured(f"SANDBOX_CHAIN is {found!r}; set it to {' or '.join(_SANDBOX_NETWORKS)}.")
    return found


def _checked_issuer(code: str, issuer: str) -> str:
    if code not in COINS or code in REAL_PROFILES[STELLAR].assets:
        raise ImproperlyConfigured(f"STELLAR_ISSUERS names {code}; an issuer can be set for USDT and DAI.")
    try:
        account, identifier = stellar_addresses.split(issuer)
    except InvalidAddress as error:
        raise ImproperlyConfigured(f"STELLAR_ISSUERS: the issuer of {code} is no address. {error}") from error
    if identifier is not None:
        raise ImproperlyConfigured(f"STELLAR_ISSUERS: the issuer of {code} must be a G address.")
    return account


def _not_in_use(environment: str, network: str, in_use: tuple[str, ...]) -> str:
    if not in_use:
        return f"No network is set up in {environment} yet."
    return f"{network} is not available in {environment}; available are {', '.join(in_use)}."
