"""Which networks and coins are in use in each environment, and the adapter that speaks to each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.containment import contained
from config.environments import Environment
from config.errors import DomainError
from config.money import Asset
from payments.chains.base import Chain
from payments.chains.errors import InvalidAddress
from payments.chains.evm import addresses as evm_addresses
from payments.chains.evm import configuration
from payments.chains.evm.configuration import devnet_chain, evm_chain, testnet_chain
from payments.chains.evm.development import devnet
from payments.chains.networks import (
    COINS,
    ETHEREUM,
    NETWORKS,
    POLYGON,
    REAL_PROFILES,
    STELLAR,
    STELLAR_DECIMALS,
    TEST_PROFILES,
)
from payments.chains.profiles import NetworkProfile
from payments.chains.simulated.adapter import SimulatedChain
from payments.chains.simulated.networks import simulated_profile
from payments.chains.stellar import addresses as stellar_addresses

Adapter = Callable[[NetworkProfile], Chain]

# Adapters of the real networks: one line each.
REAL_ADAPTERS: Mapping[str, Adapter] = {
    ETHEREUM: evm_chain,
    POLYGON: evm_chain,
}

SIMULATED, DEVNET, TESTNET = "simulated", "devnet", "testnet"
"""What the sandbox runs on: rows in the database, the nodes that `manage.py devnet` starts on this machine, or the test
networks that the operator has providers of."""


class UnsupportedNetwork(DomainError):
    """No adapter speaks to this network in this environment."""

    code = "network_unavailable"
    message = "This network is not available."


class UnsupportedAsset(DomainError):
    """The network is in use, but this coin is not accepted on it."""

    code = "unsupported_asset"
    message = "This coin is not accepted on this network."


def places_in_use() -> list[tuple[str, str]]:
    """Every environment and network in use. One environment that is set up wrongly hides no other."""
    found: list[tuple[str, str]] = []
    for environment in Environment.values:
        with contained("networks in use are not known", environment=environment):
            found += [(environment, network) for network in networks(environment)]
    return found


def networks(environment: str) -> tuple[str, ...]:
    """The names of the networks in use."""
    if environment == Environment.SANDBOX:
        return _sandbox().networks()
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
        return _sandbox().profile(network)
    return real_profile(network)


def known_profile(environment: str, network: str) -> NetworkProfile:
    """A network's data, in use or not: what was paid on it is still shown."""
    if network in networks(environment):
        return profile(environment, network)
    return simulated_profile(network) if environment == Environment.SANDBOX else real_profile(network)


def chain(environment: str, network: str) -> Chain:
    """The adapter of a network in use; UnsupportedNetwork for any other."""
    found = profile(environment, network)
    if environment == Environment.SANDBOX:
        return _sandbox().adapter(found)
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


def decided_by_one(environment: str) -> tuple[str, ...]:
    """The networks in use where one provider decides about money alone, because the operator lets it."""
    if environment == Environment.SANDBOX:
        kind = configuration.TESTNET if settings.SANDBOX_CHAIN == TESTNET else None
    else:
        kind = configuration.MAINNET
    return tuple(
        network
        for network in networks(environment)
        if kind is not None and real_profile(network).family == "evm" and configuration.decided_by_one(network, kind)
    )


def is_simulated(environment: str) -> bool:
    """Whether rows in the database stand in for the networks there: no node answers, and no wallet knows them."""
    return environment == Environment.SANDBOX and settings.SANDBOX_CHAIN == SIMULATED


def real_profile(network: str) -> NetworkProfile:
    """A real network's data, with the stellar issuers that the operator trusts added."""
    found = REAL_PROFILES[network]
    if network != STELLAR:
        return found
    issued = dict(found.assets)
    for code, issuer in settings.STELLAR_ISSUERS.items():
        issued[code] = Asset(STELLAR, code, STELLAR_DECIMALS, f"{code}:{_checked_issuer(code, issuer)}")
    return replace(found, assets={code: issued[code] for code in COINS if code in issued})


def testnet_profile(network: str) -> NetworkProfile:
    """A test network's data, with the contracts that the operator named for coins without an issuer there."""
    found = TEST_PROFILES[network]
    coins = dict(found.assets)
    for name, contract in settings.TESTNET_TOKENS.items():
        place, _, code = name.partition(":")
        if place not in TEST_PROFILES or code not in COINS or code in TEST_PROFILES[place].assets:
            raise ImproperlyConfigured(f"TESTNET_TOKENS names {name}; a contract can be set like ethereum:USDT=0x….")
        try:
            parsed = evm_addresses.parse(contract)
        except InvalidAddress as error:
            raise ImproperlyConfigured(f"TESTNET_TOKENS: the contract of {name} is no address. {error}") from error
        if place == network:
            coins[code] = replace(REAL_PROFILES[network].assets[code], contract=parsed)
    return replace(found, assets={code: coins[code] for code in COINS if code in coins})


@dataclass(frozen=True, slots=True)
class _Sandbox:
    """Something the sandbox can run on."""

    networks: Callable[[], tuple[str, ...]]
    profile: Callable[[str], NetworkProfile]
    adapter: Adapter


_SANDBOXES: Mapping[str, _Sandbox] = {
    SIMULATED: _Sandbox(
        lambda: NETWORKS, lambda network: simulated_profile(network), lambda found: SimulatedChain(found)
    ),
    DEVNET: _Sandbox(lambda: tuple(devnet.PORTS), devnet.profile, lambda found: devnet_chain(found.network)),
    TESTNET: _Sandbox(
        lambda: tuple(network for network in TEST_PROFILES if settings.TESTNET_EVM_PROVIDERS[network]),
        testnet_profile,
        testnet_chain,
    ),
}


def _sandbox() -> _Sandbox:
    found: str = settings.SANDBOX_CHAIN
    if found not in _SANDBOXES:
        raise ImproperlyConfigured(f"SANDBOX_CHAIN is {found!r}; set it to {' or '.join(_SANDBOXES)}.")
    return _SANDBOXES[found]


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
