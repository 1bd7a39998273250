"""What the deposit addresses of the local nodes are computed with."""

from __future__ import annotations

from payments.chains.evm.deposit_addresses.derivation import Derivation, Derivations
from tests.evm.network import devnet

ADDRESS_KEY = "5a" * 32

DERIVATIONS = Derivations(Derivation(devnet.DEPLOYMENT.factory, bytes.fromhex(ADDRESS_KEY)))
