"""The operator's settings for a signer of its own, as the objects it works with. Only that process loads this."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.environments import Environment
from payments.chains.evm import factory as evm
from payments.chains.evm.keys.signing_rules import EvmWallet
from payments.chains.network_table import testnet_profile
from payments.chains.profiles import NetworkProfile
from payments.chains.registry import known_profile
from payments.chains.settings_parser import MAINNET, AllNetworkSettings, NetworkSettings
from payments.chains.signer.policy import Place, PolicyRefused, read_policy
from payments.chains.signer.record import Record, RecordRefused, utc_now
from payments.chains.signer.service import Service, WalletSigner
from payments.chains.stellar import factory as stellar

POLICY, RECORD, STOP = "policy.toml", "record.jsonl", "stop"
"""Files of the signer's folder."""


def folder() -> Path:
    """Where policy, record and stop are; ImproperlyConfigured unless it is there."""
    if not settings.SIGNER_FOLDER or not (found := Path(settings.SIGNER_FOLDER)).is_dir():
        raise ImproperlyConfigured("SIGNER_FOLDER names no folder: see docs/signer.md for what is in it.")
    return found


def profiles() -> dict[Place, NetworkProfile]:
    """The networks that there are keys for."""
    return {place: profile for place, profile, _ in _networks()}


def wallets(clock: Callable[[], datetime] = utc_now) -> dict[Place, WalletSigner]:
    """The wallet signer of each network that there is a key for. ImproperlyConfigured names the fault in one."""
    return {place: _wallet(profile, found, clock) for place, profile, found in _networks()}


@contextmanager
def service(clock: Callable[[], datetime] = utc_now) -> Iterator[Service]:
    """The signer of these settings, which has its record for itself. ImproperlyConfigured names what it lacks."""
    here, known = folder(), wallets(clock)
    if not known:
        raise ImproperlyConfigured("There is no key of a hot wallet: give the signer EVM_KEYSTORE or the like.")
    try:
        policy = read_policy(here / POLICY, profiles())
        record = Record(here / RECORD, clock)
    except (PolicyRefused, RecordRefused) as error:
        raise ImproperlyConfigured(f"The signer does not start: {error}.") from error
    try:
        yield Service(known, policy, record, intent_key=settings.PAYOUT_INTENT_KEY, stop=here / STOP)
    finally:
        record.close()


def _networks() -> Iterator[tuple[Place, NetworkProfile, NetworkSettings]]:
    all_of_them: AllNetworkSettings = settings.NETWORK_SETTINGS
    for (kind, network), found in all_of_them.items():
        if found.keystore or found.hot_wallet_key or found.key_service:
            environment = Environment.PRODUCTION if kind == MAINNET else Environment.SANDBOX
            # Its sandbox is the test networks, whatever the value of SANDBOX_CHAIN: only they need keys.
            is_real = kind == MAINNET
            profile = known_profile(environment, network) if is_real else testnet_profile(network)
            yield (environment.value, network), profile, found


def _wallet(profile: NetworkProfile, found: NetworkSettings, clock: Callable[[], datetime]) -> WalletSigner:
    if profile.family == "evm":
        signer, factories = evm.signer(found, profile.network), evm.factories(found)
        deployments = evm.deployments(found)
        return EvmWallet(profile, signer, factories=factories, rules=evm.fee_rules(found), deployments=deployments)
    from payments.chains.stellar.signing_rules import StellarWallet

    return StellarWallet(profile, stellar.keys(found), cap=found.fee_cap_stroops, clock=clock)
