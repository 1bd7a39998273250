"""The operator's settings for ethereum and polygon, as the objects the rest works with."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from payments.chains.base import InvalidAddress, NetworkProfile
from payments.chains.evm import addresses
from payments.chains.evm.adapter import EvmChain
from payments.chains.evm.development import devnet
from payments.chains.evm.fees import GWEI, FeeRules
from payments.chains.evm.providers import Providers
from payments.chains.evm.reading import Pace
from payments.chains.evm.rpc import Rpc
from payments.chains.evm.signing import KeyRefused, Signer, signer_from_key, signer_from_keystore


def address(setting: str) -> str:
    """An address that a setting names; ImproperlyConfigured says what is wrong with it."""
    text: str = getattr(settings, setting)
    if not text:
        raise ImproperlyConfigured(f"{setting} is not set.")
    try:
        return addresses.parse(text)
    except InvalidAddress as error:
        raise ImproperlyConfigured(f"{setting} is no address. {error}") from error


def providers(profile: NetworkProfile) -> Providers:
    """Those of a network, the same object for the whole process: it knows how each has been doing."""
    urls = tuple(settings.EVM_PROVIDERS[profile.network])
    if not urls:
        raise ImproperlyConfigured(f"{profile.network.upper()}_RPC_URLS is not set.")
    if profile.chain_id is None:
        raise ImproperlyConfigured(f"{profile.network} has no chain id.")
    return _providers(profile.network, profile.chain_id, profile.block_seconds, urls)


def fee_rules(network: str) -> FeeRules:
    return FeeRules(
        tip_floor=int(settings.EVM_TIP_FLOOR_GWEI.get(network, "0")) * GWEI,
        cap=int(settings.EVM_FEE_CAP_GWEI[network]) * GWEI,
    )


def signer() -> Signer:
    """Who signs for the hot wallet; ImproperlyConfigured when that is not the wallet that is configured."""
    found = _signer(settings.EVM_KEYSTORE, settings.EVM_KEYSTORE_PASSWORD, settings.EVM_HOT_WALLET_KEY)
    wallet = address("EVM_HOT_WALLET")
    if found.address != wallet:
        raise ImproperlyConfigured(f"EVM_HOT_WALLET is {wallet}, but the key is that of {found.address}.")
    return found


def evm_chain(profile: NetworkProfile) -> EvmChain:
    """The adapter of a network, by the operator's settings."""
    return EvmChain(
        profile,
        providers=providers(profile),
        factory=address("EVM_FACTORY"),
        wallet=address("EVM_HOT_WALLET"),
        rules=fee_rules(profile.network),
        signer=signer,
        pace=_pace(profile.network),
    )


def devnet_chain(network: str) -> EvmChain:
    """The adapter of a network that `manage.py devnet` runs on this machine: it needs no settings."""
    profile = devnet.profile(network)
    return EvmChain(
        profile,
        providers=_providers(network, devnet.CHAIN_IDS[network], profile.block_seconds, (devnet.url(network),)),
        factory=devnet.DEPLOYMENT.factory,
        wallet=devnet.HOT_WALLET,
        rules=fee_rules(network),
        signer=lambda: _signer("", "", devnet.HOT_WALLET_KEY),
        pace=_pace(network),
    )


@cache
def _pace(network: str) -> Pace:
    """What providers have been found to take, kept for the whole process."""
    return Pace()


@cache
def _providers(network: str, chain_id: int, block_seconds: float, urls: tuple[str, ...]) -> Providers:
    return Providers([Rpc(url, chain_id=chain_id) for url in urls], network=network, block_seconds=block_seconds)


@cache
def _signer(keystore: str, password: str, key: str) -> Signer:
    if not keystore and not key:
        raise ImproperlyConfigured("No key signs for the hot wallet: set EVM_KEYSTORE and EVM_KEYSTORE_PASSWORD.")
    try:
        return signer_from_keystore(Path(keystore), password) if keystore else signer_from_key(key)
    except KeyRefused as error:
        raise ImproperlyConfigured(f"{'EVM_KEYSTORE' if keystore else 'EVM_HOT_WALLET_KEY'}: {error}.") from error
