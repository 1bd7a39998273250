"""What the sandbox runs on with SANDBOX_CHAIN=devnet."""

from __future__ import annotations

from payments.chains.networks import NETWORKS
from payments.chains.profiles import NetworkProfile
from payments.chains.registry import Sandbox, with_set_aside
from payments.chains.settings_parser import MAINNET
from tests.evm.network import devnet as evm
from tests.stellar.network import devnet as stellar


def _profile(network: str) -> NetworkProfile:
    if network in evm.networks():
        return evm.profile(network)
    return with_set_aside(stellar.profile(network), MAINNET)


SANDBOX = Sandbox(
    lambda: tuple(name for name in NETWORKS if name in {*evm.networks(), *stellar.networks()}),
    _profile,
    lambda found: evm.chain(found) if found.family == "evm" else stellar.chain(found),
)
