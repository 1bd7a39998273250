"""The operator's settings for ethereum and polygon, as the objects the rest works with.

There are two sets of them under the same names: for real money, and with TESTNET_ before them for test networks, so
that a sandbox on a test network shares nothing with production.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Literal

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.money import Asset
from payments.chains.errors import InvalidAddress
from payments.chains.evm import addresses
from payments.chains.evm.adapter import EvmChain
from payments.chains.evm.development import devnet
from payments.chains.evm.fees import GWEI, FeeRules
from payments.chains.evm.providers import Providers
from payments.chains.evm.readiness import Readiness
from payments.chains.evm.reading import Pace
from payments.chains.evm.rpc import Rpc, endpoint_of
from payments.chains.evm.signing import KeyRefused, Signer, signer_from_key, signer_from_keystore
from payments.chains.profiles import NetworkProfile

Settings = Literal["", "TESTNET_"]
"""What stands before the names of settings."""

MAINNET: Settings = ""
TESTNET: Settings = "TESTNET_"


def address(setting: str, kind: Settings = MAINNET) -> str:
    """An address that a setting names; ImproperlyConfigured says what is wrong with it."""
    text: str = getattr(settings, kind + setting)
    if not text:
        raise ImproperlyConfigured(f"{kind}{setting} is not set.")
    try:
        return addresses.parse(text)
    except InvalidAddress as error:
        raise ImproperlyConfigured(f"{kind}{setting} is no address. {error}") from error


def providers(profile: NetworkProfile, kind: Settings = MAINNET) -> Providers:
    """Those of a network, the same object for the whole process: it knows how each has been doing."""
    if profile.chain_id is None:
        raise ImproperlyConfigured(f"{profile.network} has no chain id.")
    return _providers(
        profile.network,
        profile.chain_id,
        profile.block_seconds,
        _urls(profile.network, kind),
        _one_may_decide(profile.network, kind),
    )


def decided_by_one(network: str, kind: Settings = MAINNET) -> bool:
    """Whether one provider alone decides about money there: one is listed, and the operator lets it."""
    urls: list[str] = getattr(settings, f"{kind}EVM_PROVIDERS").get(network, [])
    return _one_may_decide(network, kind) and len({endpoint_of(url) for url in urls}) == 1


def fee_rules(network: str) -> FeeRules:
    return FeeRules(
        tip_floor=_gwei(settings.EVM_TIP_FLOOR_GWEI.get(network, "0")), cap=_gwei(settings.EVM_FEE_CAP_GWEI[network])
    )


def signer(kind: Settings = MAINNET) -> Signer:
    """Who signs for the hot wallet; ImproperlyConfigured when that is not the wallet that is configured."""
    keystore, password, key = (
        str(getattr(settings, kind + name)) for name in ("EVM_KEYSTORE", "EVM_KEYSTORE_PASSWORD", "EVM_HOT_WALLET_KEY")
    )
    found = _signer(keystore, password, key, kind)
    wallet = address("EVM_HOT_WALLET", kind)
    if found.address != wallet:
        raise ImproperlyConfigured(f"{kind}EVM_HOT_WALLET is {wallet}, but the key is that of {found.address}.")
    return found


def evm_chain(profile: NetworkProfile, kind: Settings = MAINNET) -> EvmChain:
    """The adapter of a network, by the operator's settings."""
    return _chain(
        profile,
        _urls(profile.network, kind),
        factory=address("EVM_FACTORY", kind),
        owner=address("EVM_OWNER", kind) if getattr(settings, f"{kind}EVM_OWNER") else "",
        wallet=address("EVM_HOT_WALLET", kind),
        signer=lambda: signer(kind),
        one_may_decide=_one_may_decide(profile.network, kind),
    )


def testnet_chain(profile: NetworkProfile) -> EvmChain:
    """The adapter of a test network, by the settings for those."""
    return evm_chain(profile, TESTNET)


def devnet_chain(network: str) -> EvmChain:
    """The adapter of a network that `manage.py devnet` runs on this machine: it needs no settings."""
    return _chain(
        devnet.profile(network),
        (devnet.url(network),),
        factory=devnet.DEPLOYMENT.factory,
        owner=devnet.OWNER,
        wallet=devnet.HOT_WALLET,
        signer=lambda: _signer("", "", devnet.HOT_WALLET_KEY, MAINNET),
        one_may_decide=True,  # a node on this machine, and money of no worth
    )


def _chain(
    profile: NetworkProfile,
    urls: tuple[str, ...],
    *,
    factory: str,
    owner: str,
    wallet: str,
    signer: Callable[[], Signer],
    one_may_decide: bool,
) -> EvmChain:
    if profile.chain_id is None:
        raise ImproperlyConfigured(f"{profile.network} has no chain id.")
    return EvmChain(
        profile,
        providers=_providers(profile.network, profile.chain_id, profile.block_seconds, urls, one_may_decide),
        factory=factory,
        owner=owner,
        wallet=wallet,
        rules=fee_rules(profile.network),
        signer=signer,
        pace=_pace(urls),
        readiness=_readiness(profile.network, tuple(profile.assets.values()), factory, owner, wallet, urls),
    )


def _urls(network: str, kind: Settings) -> tuple[str, ...]:
    urls: list[str] = getattr(settings, f"{kind}EVM_PROVIDERS")[network]
    if not urls:
        raise ImproperlyConfigured(f"{kind}{network.upper()}_RPC_URLS is not set.")
    return tuple(urls)


def _one_may_decide(network: str, kind: Settings) -> bool:
    return network in getattr(settings, f"{kind}EVM_SINGLE_PROVIDER_NETWORKS")


def _gwei(text: str) -> int:
    return int(Decimal(text) * GWEI)


@cache
def _pace(urls: tuple[str, ...]) -> Pace:
    """What these providers have been found to take, kept for the whole process."""
    return Pace()


@cache
def _readiness(
    network: str, coins: tuple[Asset, ...], factory: str, owner: str, wallet: str, urls: tuple[str, ...]
) -> Readiness:
    """What has been found out about the set-up that these settings describe, kept for the whole process."""
    return Readiness(network)


@cache
def _providers(
    network: str, chain_id: int, block_seconds: float, urls: tuple[str, ...], one_may_decide: bool
) -> Providers:
    try:
        rpcs = [Rpc(url, chain_id=chain_id) for url in urls]
    except (OSError, ValueError) as error:  # a proxy, or the file of certificates, that the environment names
        raise ImproperlyConfigured(f"The providers of {network} cannot be asked: {error}") from error
    return Providers(
        rpcs,
        network=network,
        block_seconds=block_seconds,
        one_may_decide=one_may_decide,
    )


@cache
def _signer(keystore: str, password: str, key: str, kind: Settings) -> Signer:
    if not keystore and not key:
        raise ImproperlyConfigured(
            f"No key signs for the hot wallet: set {kind}EVM_KEYSTORE and {kind}EVM_KEYSTORE_PASSWORD."
        )
    try:
        return signer_from_keystore(Path(keystore), password) if keystore else signer_from_key(key)
    except KeyRefused as error:
        setting = "EVM_KEYSTORE" if keystore else "EVM_HOT_WALLET_KEY"
        raise ImproperlyConfigured(f"{kind}{setting}: {error}.") from error
