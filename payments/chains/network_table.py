"""The profile of every network in each environment, with what the operator has chosen: built once in a process.

A network whose settings are wrong has the error in place of its profile, so that it stops no other one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.coins import COINS
from config.environments import Environment
from config.hooks import of_a_checkout
from config.money import Asset
from payments.chains.errors import InvalidAddress
from payments.chains.evm import addresses as evm_addresses
from payments.chains.evm import factory as evm
from payments.chains.networks import NETWORKS
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.chain import Chain
from payments.chains.settings_lookup import settings_of
from payments.chains.settings_parser import MAINNET, TESTNET, Kind
from payments.chains.simulated.adapter import SimulatedChain
from payments.chains.simulated.networks import simulated_profile
from payments.chains.stellar import addresses as stellar_addresses
from payments.chains.stellar import factory as stellar

Adapter = Callable[[NetworkProfile], Chain]

ADAPTERS: dict[str, Adapter] = {"evm": evm.evm_chain, "stellar": stellar.stellar_chain}
"""What connects to a real network, by its family."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What the sandbox can run on: its networks, the profile of each, and by family what connects to them."""

    networks: Collection[str]
    profile: Callable[[str], NetworkProfile]
    adapters: Mapping[str, Adapter]


@dataclass(frozen=True, slots=True)
class NetworkTable:
    """Both environments: the networks in use, in the order of lists, and the profiles also of those that are not."""

    in_use: Mapping[str, tuple[str, ...]]
    profiles: Mapping[tuple[str, str], NetworkProfile | ImproperlyConfigured]
    adapters: Mapping[str, Mapping[str, Adapter]]


@cache
def network_table() -> NetworkTable:
    """The networks by the settings of this process."""
    sandbox, in_production = _SANDBOXES[settings.SANDBOX_CHAIN](), settings.PRODUCTION_NETWORKS
    return NetworkTable(
        in_use={
            Environment.SANDBOX: tuple(network for network in NETWORKS if network in sandbox.networks),
            Environment.PRODUCTION: tuple(network for network in NETWORKS if network in in_production),
        },
        profiles=dict(_profiles(sandbox)),
        adapters={Environment.SANDBOX: sandbox.adapters, Environment.PRODUCTION: ADAPTERS},
    )


def _profiles(sandbox: Sandbox) -> Iterator[tuple[tuple[str, str], NetworkProfile | ImproperlyConfigured]]:
    for network in NETWORKS:
        in_sandbox = sandbox.profile if network in sandbox.networks else simulated_profile
        for environment, profile in ((Environment.SANDBOX, in_sandbox), (Environment.PRODUCTION, _real_profile)):
            try:
                found: NetworkProfile | ImproperlyConfigured = profile(network)
            except ImproperlyConfigured as error:
                found = error
            yield (environment.value, network), found


def _real_profile(network: str) -> NetworkProfile:
    return _with_issuers(with_set_aside(NETWORKS[network].real, MAINNET), MAINNET)


def with_set_aside(found: NetworkProfile, kind: Kind) -> NetworkProfile:
    """Whether payouts may be set aside, as the operator has chosen."""
    return replace(found, sets_aside=settings_of(found.network, kind).claimable_balances)


def _with_issuers(found: NetworkProfile, kind: Kind) -> NetworkProfile:
    """With the coins whose issuers the operator trusts."""
    issued, network = dict(found.assets), found.network
    for code, issuer in settings_of(network, kind).issuers.items():
        contract = _checked_contract(found, code, issuer, kind)
        issued[code] = Asset(network, code, found.decimals[code], contract)
    return replace(found, assets={code: issued[code] for code in COINS if code in issued})


def testnet_profile(network: str) -> NetworkProfile:
    """A test network's data, with what the operator named for coins without an issuer there."""
    tests = {name: each.test for name, each in NETWORKS.items() if each.test is not None}
    found = tests[network]
    if found.family == "stellar":
        return _with_issuers(with_set_aside(found, TESTNET), TESTNET)
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


def _checked_contract(found: NetworkProfile, code: str, issuer: str, kind: Kind) -> str:
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


def _simulated() -> Sandbox:
    return Sandbox(NETWORKS, simulated_profile, dict.fromkeys(ADAPTERS, lambda found: SimulatedChain(found)))


def _on_test_networks() -> Sandbox:
    """Those that the operator has providers of."""
    networks = [name for name, each in NETWORKS.items() if each.test and settings_of(name, TESTNET).rpc_urls]
    return Sandbox(networks, testnet_profile, {"evm": evm.testnet_chain, "stellar": stellar.testnet_chain})


def _on_this_machine() -> Sandbox:
    found: Sandbox = of_a_checkout("tests.devnet.sandbox").sandbox()
    return found


SIMULATED, DEVNET, TESTNETS = "simulated", "devnet", "testnet"

_SANDBOXES: Mapping[str, Callable[[], Sandbox]] = {
    SIMULATED: _simulated,
    DEVNET: _on_this_machine,
    TESTNETS: _on_test_networks,
}
"""What the sandbox runs on, by SANDBOX_CHAIN: rows in the database, the servers that `manage.py devnet` starts on this
machine, or the test networks that the operator has providers of."""
