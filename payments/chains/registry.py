"""Which networks and coins are in use in each environment, and the adapter that connects to each."""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.environments import Environment
from config.errors import DomainError
from config.money import Asset
from payments.chains import settings_lookup, settings_parser
from payments.chains.network_table import SIMULATED, TESTNETS, network_table
from payments.chains.networks import NETWORKS
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.chain import Chain


class UnsupportedNetwork(DomainError):
    """No adapter connects to this network in this environment."""

    code = "network_unavailable"
    message = "This network is not available."


class UnsupportedAsset(DomainError):
    """The network is in use, but this coin is not accepted on it."""

    code = "unsupported_asset"
    message = "This coin is not accepted on this network."


def places_in_use() -> list[tuple[str, str]]:
    """Every environment and network in use."""
    return [(environment, network) for environment in Environment.values for network in networks(environment)]


def networks(environment: str) -> tuple[str, ...]:
    """The names of the networks in use."""
    return network_table().in_use[environment]


def profile(environment: str, network: str) -> NetworkProfile:
    """What is always true of a network in use; UnsupportedNetwork for any other."""
    if network not in network_table().in_use[environment]:
        raise UnsupportedNetwork(_not_in_use(environment, network), param="network")
    return known_profile(environment, network)


def known_profile(environment: str, network: str) -> NetworkProfile:
    """A network's data, in use or not: what was paid on it is still shown. ImproperlyConfigured where it is set
    wrongly."""
    found = network_table().profiles[environment, network]
    if isinstance(found, ImproperlyConfigured):
        raise ImproperlyConfigured(str(found))
    return found


def chain(environment: str, network: str) -> Chain:
    """The adapter of a network in use; UnsupportedNetwork for any other."""
    found = profile(environment, network)
    return network_table().adapters[environment][found.family](found)


def asset(environment: str, network: str, code: str) -> Asset:
    """The accepted coin of this name; UnsupportedAsset names those that are accepted."""
    accepted = profile(environment, network).assets
    if code not in accepted:
        raise UnsupportedAsset(
            f"{code} is not accepted on {network}; accepted are {', '.join(accepted)}.", param="cryptocurrency"
        )
    return accepted[code]


def decimals(environment: str, network: str, code: str) -> int:
    """The scale of a coin's amounts, in use or not: money received before a network was turned off is still shown."""
    return NETWORKS[network].real.decimals[code]


def decided_by_one(environment: str) -> tuple[str, ...]:
    """The networks in use where one provider decides about money alone, because the operator lets it."""
    kind = kind_of(environment)
    return tuple(
        network
        for network in networks(environment)
        if kind is not None and settings_lookup.decided_by_one(network, kind)
    )


def counted_as_one(environment: str) -> dict[str, dict[str, int]]:
    """By network in use: the owners of several addresses that are listed for it, and of how many."""
    kind = kind_of(environment)
    return {} if kind is None else {each: settings_lookup.counted_as_one(each, kind) for each in networks(environment)}


def kind_of(environment: str) -> settings_parser.Kind | None:
    """The settings that its networks are connected to by; None where they need none."""
    if environment == Environment.SANDBOX:
        return settings_parser.TESTNET if settings.SANDBOX_CHAIN == TESTNETS else None
    return settings_parser.MAINNET


def oracle_of(environment: str, network: str) -> str:
    """The contract that names sanctioned accounts on a network in use; empty where none is queried."""
    kind = kind_of(environment)
    return "" if kind is None else settings_lookup.settings_of(network, kind).oracle


def is_simulated(environment: str) -> bool:
    """Whether rows in the database stand in for the networks there: no node answers, and no wallet knows them."""
    return environment == Environment.SANDBOX and settings.SANDBOX_CHAIN == SIMULATED


def _not_in_use(environment: str, network: str) -> str:
    if not (in_use := networks(environment)):
        return f"No network is set up in {environment} yet."
    return f"{network} is not available in {environment}; available are {', '.join(in_use)}."
