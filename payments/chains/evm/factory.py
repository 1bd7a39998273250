"""The operator's settings for evm networks, as the objects the rest works with."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

from django.core.exceptions import ImproperlyConfigured

from config.database.database_time import best_known_now
from config.money import Asset
from payments.chains.errors import InvalidAddress
from payments.chains.evm import addresses
from payments.chains.evm.adapter import EvmChain
from payments.chains.evm.deposit_addresses import deployment
from payments.chains.evm.deposit_addresses.derivation import Derivations, derivations
from payments.chains.evm.deposit_addresses.new_addresses import NewAddresses
from payments.chains.evm.fees import GWEI, FeeRules
from payments.chains.evm.keys.remote_signing import RemoteSigner
from payments.chains.evm.keys.signing import KeyRefused, Signer, signer_from_key, signer_from_keystore
from payments.chains.evm.nodes.providers import Providers
from payments.chains.evm.nodes.rpc import Rpc
from payments.chains.evm.reading import Pace
from payments.chains.networks import NETWORKS
from payments.chains.profiles import NetworkProfile
from payments.chains.readiness import Readiness
from payments.chains.settings_lookup import client_of, settings_of, urls_of
from payments.chains.settings_parser import MAINNET, TESTNET, Kind, NetworkSettings


def networks() -> tuple[str, ...]:
    """The names of the evm networks."""
    return tuple(name for name, each in NETWORKS.items() if each.real.family == "evm")


def address(found: NetworkSettings, name: Literal["factory", "owner", "hot_wallet"]) -> str:
    """An address of the settings; ImproperlyConfigured names the fault."""
    text, setting = getattr(found, name), f"{found.kind}EVM_{name.upper()}"
    if not text:
        raise ImproperlyConfigured(f"{setting} is not set.")
    try:
        return addresses.parse(text)
    except InvalidAddress as error:
        raise ImproperlyConfigured(f"{setting} is no address. {error}") from error


def factories(found: NetworkSettings) -> frozenset[str]:
    """The present factory, where there is one yet, and the factories of former addresses; ImproperlyConfigured names
    the fault in one."""
    former = (addresses.parse(text.partition(":")[2]) for text in found.former_addresses.values())
    present = [address(found, "factory")] if found.factory else []
    return frozenset({*present, *former})


def providers(profile: NetworkProfile, kind: Kind = MAINNET) -> Providers:
    """Those of a network, the same object for the whole process: it knows how each has been doing."""
    found = settings_of(profile.network, kind)
    urls = urls_of(found, profile.network)
    return _providers_of(profile, urls, found)


def deployments(found: NetworkSettings) -> frozenset[tuple[str, bytes]]:
    """What a signer of its own may send to put a factory in place: to whom, and with which data. Empty where its
    settings name no owner."""
    if not found.owner:
        return frozenset()
    return frozenset({(deployment.DEPLOYER, deployment.with_owner(address(found, "owner")).data)})


def fee_rules(found: NetworkSettings) -> FeeRules:
    return FeeRules(tip_floor=int(found.tip_floor_gwei * GWEI), cap=int(found.fee_cap_gwei * GWEI))


def signer(found: NetworkSettings, network: str) -> Signer:
    """Who signs for the hot wallet; ImproperlyConfigured when that is not the wallet that is configured."""
    if found.signer_url:
        return RemoteSigner(address(found, "hot_wallet"), client_of(found, network))
    if found.key_service:
        signs = _service_signer(found.key_service, found.kind)
    else:
        signs = _signer(found.keystore, found.keystore_password, found.hot_wallet_key, found.kind)
    wallet = address(found, "hot_wallet")
    if signs.address != wallet:
        raise ImproperlyConfigured(f"{found.kind}EVM_HOT_WALLET is {wallet}, but the key is that of {signs.address}.")
    return signs


def evm_chain(profile: NetworkProfile, kind: Kind = MAINNET) -> EvmChain:
    """The adapter of a network, by the operator's settings."""
    return chain_by(profile, settings_of(profile.network, kind))


def testnet_chain(profile: NetworkProfile) -> EvmChain:
    """The adapter of a test network, by the settings for those."""
    return evm_chain(profile, TESTNET)


def chain_by(profile: NetworkProfile, found: NetworkSettings) -> EvmChain:
    """The adapter of a network, by these settings."""
    urls = urls_of(found, profile.network)
    factory, wallet = address(found, "factory"), address(found, "hot_wallet")
    owner = address(found, "owner") if found.owner else ""
    people = owner, wallet, found.cold_wallet if found.sweeps_to_cold else ""
    return EvmChain(
        profile,
        providers=_providers_of(profile, urls, found),
        derivations=_derivations(factory, found.address_key, tuple(found.former_addresses.items()), found.kind),
        owner=owner,
        wallet=wallet,
        cold_wallet=found.cold_wallet,
        oracle=found.oracle,
        sweeps_to_cold=found.sweeps_to_cold,
        rules=fee_rules(found),
        signer=lambda: signer(found, profile.network),
        pace=_pace(urls),
        readiness=_readiness(profile.network, tuple(profile.assets.values()), factory, people, urls),
        new_addresses=_new_addresses(urls, factory),
    )


@cache
def _derivations(factory: str, key: str, former: tuple[tuple[str, str], ...], kind: Kind) -> Derivations:
    try:
        return derivations(factory=factory, key=bytes.fromhex(key) or None, former=dict(former))
    except ValueError as error:
        raise ImproperlyConfigured(f"{kind}EVM_FORMER_ADDRESSES: {error}.") from error


@cache
def _new_addresses(urls: tuple[str, ...], factory: str) -> NewAddresses:
    """What new addresses were found to take, kept for the whole process."""
    return NewAddresses()


@cache
def _pace(urls: tuple[str, ...]) -> Pace:
    """What these providers have been found to take, kept for the whole process."""
    return Pace()


@cache
def _readiness(
    network: str, coins: tuple[Asset, ...], factory: str, people: tuple[str, ...], urls: tuple[str, ...]
) -> Readiness:
    """What has been found out about the set-up that these settings describe, kept for the whole process."""
    return Readiness(network)


def _providers_of(profile: NetworkProfile, urls: tuple[str, ...], found: NetworkSettings) -> Providers:
    chain_id, block_seconds = profile.evm_chain_id, profile.block_seconds
    return _providers(profile.network, chain_id, block_seconds, urls, found.one_may_decide, found.agreeing)


@cache
def _providers(
    network: str, chain_id: int, block_seconds: float, urls: tuple[str, ...], one_may_decide: bool, agreeing: int
) -> Providers:
    try:
        rpcs = [Rpc(url, chain_id=chain_id) for url in urls]
    except (OSError, ValueError) as error:  # a proxy, or the file of certificates, that the environment names
        raise ImproperlyConfigured(f"The providers of {network} cannot be queried: {error}") from error
    return Providers(
        rpcs,
        network=network,
        block_seconds=block_seconds,
        one_may_decide=one_may_decide,
        agreeing=agreeing,
        read_time=best_known_now,
    )


@cache
def _signer(keystore: str, password: str, key: str, kind: Kind) -> Signer:
    if not keystore and not key:
        raise ImproperlyConfigured(
            f"No key signs for the hot wallet: set {kind}EVM_KEYSTORE and {kind}EVM_KEYSTORE_PASSWORD."
        )
    try:
        return signer_from_keystore(Path(keystore), password) if keystore else signer_from_key(key)
    except KeyRefused as error:
        setting = "EVM_KEYSTORE" if keystore else "EVM_HOT_WALLET_KEY"
        raise ImproperlyConfigured(f"{kind}{setting}: {error}.") from error


@cache
def _service_signer(place: str, kind: Kind) -> Signer:
    from payments.chains.evm.keys.service_keys import ServiceKeySigner
    from payments.chains.key_services.base import KeyServiceFailed
    from payments.chains.key_services.configuration import secp_key

    try:
        return ServiceKeySigner(secp_key(place))
    except KeyServiceFailed as error:
        raise ImproperlyConfigured(f"{kind}EVM_KEY_SERVICE: {error}.") from error
