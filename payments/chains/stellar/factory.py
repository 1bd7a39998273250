"""The operator's settings for stellar, as the objects the rest works with."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from django.core.exceptions import ImproperlyConfigured

from config.database.database_time import best_known_now
from config.money import Asset
from payments.chains.profiles import NetworkProfile
from payments.chains.readiness import Readiness
from payments.chains.settings_lookup import client_of, settings_of, urls_of
from payments.chains.settings_parser import MAINNET, TESTNET, Kind, NetworkSettings
from payments.chains.stellar.adapter import StellarChain
from payments.chains.stellar.channels import Channels
from payments.chains.stellar.fees import FeeRules
from payments.chains.stellar.horizon.client import Horizon
from payments.chains.stellar.horizon.providers import Horizons

if TYPE_CHECKING:
    from payments.chains.stellar.keys.wallet_keys import Keys, Signer


def stellar_chain(profile: NetworkProfile, kind: Kind = MAINNET) -> StellarChain:
    """The adapter of the public network, by the operator's settings."""
    return chain_by(profile, settings_of(profile.network, kind))


def testnet_chain(profile: NetworkProfile) -> StellarChain:
    """The adapter of the test network, by the settings for that."""
    return stellar_chain(profile, TESTNET)


def keys(found: NetworkSettings) -> Signer:
    """What signs; ImproperlyConfigured where there is no key, or that of another account."""
    if found.signer_url:
        from payments.chains.stellar.keys.remote_signing import RemoteKeys

        return RemoteKeys(found.hot_wallet, client_of(found, "stellar"), channels=found.channels)
    if found.key_service:
        signs = _service_keys(found.key_service, found.kind)
    elif found.hot_wallet_key:
        signs = _keys(found.hot_wallet_key, found.channels, found.kind)
    else:
        setting = f"{found.kind}STELLAR_HOT_WALLET_KEY"
        raise ImproperlyConfigured(f"No key signs for the hot wallet: set {setting}_FILE or {setting}.")
    if signs.address != found.hot_wallet:
        raise ImproperlyConfigured(
            f"{found.kind}STELLAR_HOT_WALLET is {found.hot_wallet}, but the key is that of {signs.address}."
        )
    return signs


def chain_by(profile: NetworkProfile, found: NetworkSettings) -> StellarChain:
    """The adapter of the network, by these settings."""
    urls = urls_of(found, profile.network)
    if not found.hot_wallet:
        raise ImproperlyConfigured(f"{found.kind}STELLAR_HOT_WALLET is not set.")
    passphrase = profile.metadata["network_passphrase"]
    horizons = _horizons(profile.network, passphrase, urls, found.one_may_decide, found.agreeing)
    return StellarChain(
        profile,
        horizons=horizons,
        wallet=found.hot_wallet,
        cold_wallet=found.cold_wallet,
        memo_key=bytes.fromhex(found.address_key),
        keys=lambda: keys(found),
        rules=FeeRules(cap=found.fee_cap_stroops),
        channels=_channels(
            horizons, found.hot_wallet, found.channels, found.hot_wallet_key, found.signer_url, found.kind
        ),
        readiness=_readiness(passphrase, tuple(profile.assets.values()), found.hot_wallet, urls, found.channels),
    )


@cache
def _readiness(
    passphrase: str, coins: tuple[Asset, ...], wallet: str, urls: tuple[str, ...], channels: int
) -> Readiness:
    """What has been found out about the set-up that these settings describe, kept for the whole process."""
    return Readiness(coins[0].network)


@cache
def _horizons(network: str, passphrase: str, urls: tuple[str, ...], one_may_decide: bool, agreeing: int) -> Horizons:
    try:
        servers = [Horizon(url) for url in urls]
    except (OSError, ValueError) as error:  # a proxy, or the file of certificates, that the environment names
        raise ImproperlyConfigured(f"The Horizons of {network} cannot be queried: {error}") from error
    return Horizons(
        servers,
        network=network,
        passphrase=passphrase,
        one_may_decide=one_may_decide,
        agreeing=agreeing,
        read_time=best_known_now,
    )


@cache
def _channels(horizons: Horizons, wallet: str, count: int, secret: str, signer_url: str, kind: Kind) -> Channels:
    """The same object for the whole process: it remembers the answers that it received."""
    found = NetworkSettings(kind=kind, hot_wallet=wallet, hot_wallet_key=secret, channels=count, signer_url=signer_url)
    return Channels(horizons, wallet=wallet, count=count, keys=lambda: keys(found))


@cache
def _keys(secret: str, channels: int, kind: Kind) -> Keys:
    from payments.chains.stellar.keys.envelopes import KeyRefused
    from payments.chains.stellar.keys.wallet_keys import Keys

    try:
        return Keys(secret, channels=channels)
    except KeyRefused as error:
        raise ImproperlyConfigured(f"{kind}STELLAR_HOT_WALLET_KEY: {error}.") from error


@cache
def _service_keys(place: str, kind: Kind) -> Keys:
    from payments.chains.key_services.base import KeyServiceFailed
    from payments.chains.key_services.configuration import ed_key
    from payments.chains.stellar.keys.service_keys import ServiceKeypair
    from payments.chains.stellar.keys.wallet_keys import Keys

    try:
        return Keys(ServiceKeypair(ed_key(place)))
    except KeyServiceFailed as error:
        raise ImproperlyConfigured(f"{kind}STELLAR_KEY_SERVICE: {error}.") from error
