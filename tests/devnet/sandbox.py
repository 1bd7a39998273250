"""What the sandbox runs on with SANDBOX_CHAIN=devnet."""

from __future__ import annotations

from payments.chains.network_table import Sandbox, with_set_aside
from payments.chains.profiles import NetworkProfile
from payments.chains.settings_parser import MAINNET
from tests.evm.network import devnet as evm
from tests.stellar.network import devnet as stellar


def sandbox() -> Sandbox:
    return Sandbox({*evm.networks(), *stellar.networks()}, _profile, {"evm": evm.chain, "stellar": stellar.chain})


def _profile(network: str) -> NetworkProfile:
    if network in evm.networks():
        return evm.profile(network)
    return with_set_aside(stellar.profile(network), MAINNET)
