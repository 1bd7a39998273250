"""The networks that tests speak of, and other data in their place."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings

from payments.chains.networks import NETWORKS
from payments.chains.profiles import NetworkProfile
from payments.chains.settings_parser import MAINNET, AllNetworkSettings, Kind, NetworkSettings
from payments.chains.simulated import networks as simulated
from tests.evm.network import devnet
from tests.forgetting import forget_networks

ETHEREUM, POLYGON, STELLAR = "ethereum", "polygon", "stellar"

LOCAL_IDS = {name: place.chain_id for name, place in devnet.PLACES.items()}
"""The chain ids of the networks that can run on this machine."""


def put_profile(monkeypatch: pytest.MonkeyPatch, profile: NetworkProfile) -> None:
    """Another profile for a real network."""
    put(monkeypatch, profile.network, real=profile)


def put(monkeypatch: pytest.MonkeyPatch, network: str, **parts: Any) -> None:
    """Other parts of what is declared about a network, and of the simulated one that is made of it."""
    monkeypatch.setitem(NETWORKS, network, replace(NETWORKS[network], **parts))
    monkeypatch.setattr(simulated, "_profile", inspect.unwrap(simulated._profile))  # or the next test would have them
    forget_networks()


def put_simulated(monkeypatch: pytest.MonkeyPatch, network: str, **traits: Any) -> None:
    """Other traits of a network's profile, and of the simulated one that is made of it."""
    put_profile(monkeypatch, replace(NETWORKS[network].real, **traits))


def with_set(network: str, kind: Kind = MAINNET, /, **fields: Any) -> AllNetworkSettings:
    """The operator's settings as they are, but for these of a network."""
    known: AllNetworkSettings = settings.NETWORK_SETTINGS
    return known | {(kind, network): replace(known.get((kind, network), NetworkSettings(kind=kind)), **fields)}


def use_settings(found: Mapping[str, Any]) -> None:
    """Give this process these settings for good, as one that runs no tests of pytest."""
    for name, value in found.items():
        setattr(settings, name, value)
    forget_networks()


def profile_of_test(network: str) -> NetworkProfile:
    """The profile of its test network."""
    found = NETWORKS[network].test
    assert found is not None
    return found


def look_alike(network: str) -> str:
    """A token that calls itself USDC and is none: no profile knows its contract."""
    return simulated.token(network, "USDC", issuer="impostor")
