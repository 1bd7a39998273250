"""Which networks and coins are in use in each environment, and the adapter that speaks to each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.coins import COINS
from config.environments import Environment
from config.errors import DomainError
from config.hooks import of_a_checkout
from config.money import Asset
from config.periodic.containment import contained
from payments.chains import settings_lookup, settings_parser
from payments.chains.base import Chain
from payments.chains.errors import InvalidAddress
from payments.chains.evm import addresses as evm_addresses
from payments.chains.evm import factory as evm
from payments.chains.networks import NETWORKS
from payments.chains.profiles import NetworkProfile
from payments.chains.simulated.adapter import SimulatedChain
from payments.chains.simulated.networks import simulated_profile
from payments.chains.stellar import addresses as stellar_addresses
from payments.chains.stellar import factory as stellar

Adapter = Callable[[NetworkProfile], Chain]

ADAPTERS: dict[str, Adapter] = {"evm": evm.evm_chain, "stellar": stellar.stellar_chain}
"""What speaks to a real network, by its family."""

_ON_TESTNET: dict[str, Adapter] = {"evm": evm.testnet_chain, "stellar": stellar.testnet_chain}

SIMULATED, DEVNET, TESTNET = "simulated", "devnet", "testnet"
"""What the sandbox runs on: rows in the database, the servers that `manage.py devnet` starts on this machine, or the
test networks that the operator has providers of."""


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
    if missing := sorted(set(configured) - {name for name in NETWORKS if NETWORKS[name].real.family in ADAPTERS}):
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
    return ADAPTERS[found.family](found)


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
    """Whose settings its networks are asked by; None where they need none."""
    if environment == Environment.SANDBOX:
        return settings_parser.TESTNET if settings.SANDBOX_CHAIN == TESTNET else None
    return settings_parser.MAINNET


def is_simulated(environment: str) -> bool:
    """Whether rows in the database stand in for the networks there: no node answers, and no wallet knows them."""
    return environment == Environment.SANDBOX and settings.SANDBOX_CHAIN == SIMULATED


def real_profile(network: str) -> NetworkProfile:
    """A real network's data, with what the operator has chosen."""
    return _as_chosen(NETWORKS[network].real, settings_parser.MAINNET)


def _as_chosen(found: NetworkProfile, kind: settings_parser.Kind) -> NetworkProfile:
    """With the issuers that the operator trusts, and whether payouts may be set aside."""
    return _with_issuers(with_set_aside(found, kind), kind)


def with_set_aside(found: NetworkProfile, kind: settings_parser.Kind) -> NetworkProfile:
    """Whether payouts may be set aside, as the operator has chosen."""
    chosen = settings_lookup.settings_of(found.network, kind).claimable_balances
    return found if found.sets_aside == chosen else replace(found, sets_aside=chosen)


def _with_issuers(found: NetworkProfile, kind: settings_parser.Kind) -> NetworkProfile:
    issued, network = dict(found.assets), found.network
    for code, issuer in settings_lookup.settings_of(network, kind).issuers.items():
        contract = _checked_contract(found, code, issuer, kind)
        issued[code] = Asset(network, code, found.decimals[code], contract)
    if len(issued) == len(found.assets):
        return found
    return replace(found, assets={code: issued[code] for code in COINS if code in issued})


def testnet_profile(network: str) -> NetworkProfile:
    """A test network's data, with what the operator named for coins without an issuer there."""
    tests = {name: each.test for name, each in NETWORKS.items() if each.test is not None}
    found = tests[network]
    if found.family == "stellar":
        return _as_chosen(found, settings_parser.TESTNET)
    tests = {name: test for name, test in tests.items() if test.family == "evm"}
    coins = dict(found.assets)
    for name, contract in settings.TESTNET_TOKENS.items():
        place, _, code = name.partition(":")
        if place not in tests or code not in COINS or code in tests[place].assets:
            raise ImproperlyConfigured(f"TESTNET_TOKENS names {name}; a contract can be set like ethereum:USDT=0x….")
        try:
            parsed = evm_addresses.parse(contract)
        except InvalidAddress as error:
            raise ImproperlyConfigured(f"TESTNET_TOKENS: the contract of {name} is no address. {error}") from error
        if place == network:
            coins[code] = replace(NETWORKS[network].real.assets[code], contract=parsed)
    return replace(found, assets={code: coins[code] for code in COINS if code in coins})


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Something the sandbox can run on."""

    networks: Callable[[], tuple[str, ...]]
    profile: Callable[[str], NetworkProfile]
    adapter: Adapter


_SANDBOXES: Mapping[str, Sandbox] = {
    SIMULATED: Sandbox(
        lambda: tuple(NETWORKS),
        lambda network: simulated_profile(network),
        lambda found: SimulatedChain(found),
    ),
    TESTNET: Sandbox(
        lambda: tuple(
            name
            for name, each in NETWORKS.items()
            if each.test and settings_lookup.settings_of(name, settings_parser.TESTNET).rpc_urls
        ),
        testnet_profile,
        lambda found: _ON_TESTNET[found.family](found),
    ),
}


def _sandbox() -> Sandbox:
    found: str = settings.SANDBOX_CHAIN
    if found == DEVNET:
        local: Sandbox = of_a_checkout("tests.devnet.sandbox").SANDBOX
        return local
    if found not in _SANDBOXES:
        raise ImproperlyConfigured(f"SANDBOX_CHAIN is {found!r}; set it to {' or '.join((*_SANDBOXES, DEVNET))}.")
    return _SANDBOXES[found]


def _checked_contract(found: NetworkProfile, code: str, issuer: str, kind: settings_parser.Kind) -> str:
    """CODE:ISSUER of an issuer that was set, which may call the coin something else: USDT0:G…."""
    setting = f"{kind}{found.network.upper()}_ISSUERS"
    if code not in (open_to_choice := [coin for coin in COINS if coin not in found.assets]):
        raise ImproperlyConfigured(f"{setting} names {code}; an issuer can be set for {' and '.join(open_to_choice)}.")
    name, _, address = issuer.rpartition(":")
    if name and not re.fullmatch("[a-zA-Z0-9]{1,12}", name):
        raise ImproperlyConfigured(
            f"{setting}: {name} is no code of an asset; set it like {code}=G… or {code}=USDT0:G…."
        )
    try:
        account, identifier = stellar_addresses.split(address)
    except InvalidAddress as error:
        raise ImproperlyConfigured(f"{setting}: the issuer of {code} is no address. {error}") from error
    if identifier is not None:
        raise ImproperlyConfigured(f"{setting}: the issuer of {code} must be a G address.")
    return f"{name or code}:{account}"


def _not_in_use(environment: str, network: str, in_use: tuple[str, ...]) -> str:
    if not in_use:
        return f"No network is set up in {environment} yet."
    return f"{network} is not available in {environment}; available are {', '.join(in_use)}."
