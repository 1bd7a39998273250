"""The simulated networks as data: tokens, depths and credit rules.

The numbers are small on purpose, so that a payment confirms while someone watches; those of the real networks
are in payments.chains.networks. Contracts, chain ids and the passphrase belong to no real network, so that a
link made in the sandbox can never spend real money.
"""

from __future__ import annotations

import hashlib
from functools import cache

from django.conf import settings

from config.money import Asset
from payments.chains.evm import addresses as evm_addresses
from payments.chains.networks import COINS, ETHEREUM, POLYGON, REAL_PROFILES, STELLAR
from payments.chains.profiles import CreditRule, NetworkProfile
from payments.chains.stellar import addresses as stellar_addresses

FINALITY_DEPTH = {ETHEREUM: 6, POLYGON: 2, STELLAR: 0}
"""Blocks between the head and the newest final one; a reorg never goes deeper, unless it is forced."""

PASSPHRASE = "Ballast Simulated Network ; 2026"  # noqa: S105  a network's name, no secret

_CHAIN_IDS = {ETHEREUM: 913_370_001, POLYGON: 913_370_137, STELLAR: None}
_RULES: dict[str, tuple[tuple[int | None, CreditRule], ...]] = {
    ETHEREUM: ((1_000, CreditRule(confirmations=3)), (None, CreditRule(1, require_finalized=True))),
    POLYGON: ((None, CreditRule(confirmations=2, require_finalized=True)),),
    STELLAR: ((None, CreditRule(confirmations=1)),),
}
NATIVE_ENDOWMENT = 1_000_000
"""Whole coins of the network's own that the hot wallet holds from the first block: sending needs no preparation."""

# The usual price of one unit of work, in base units of the network's own coin.
_USUAL_PRICES = {ETHEREUM: 10**9, POLYGON: 30 * 10**9, STELLAR: 100}
_EVM_PAYOUT_WORK = 65_000
_EVM_SWEEP_WORK, _EVM_SWEEP_WORK_PER_DEPOSIT = 30_000, 50_000


def is_evm(network: str) -> bool:
    return REAL_PROFILES[network].family == "evm"


def address_named(network: str, purpose: str) -> str:
    """A fixed, well-formed address with no key behind it."""
    return address_from(network, hashlib.sha256(f"ballast simulated {purpose}".encode()).digest())


def address_from(network: str, seed: bytes) -> str:
    """The address that 32 bytes stand for."""
    return evm_addresses.encode(seed[-20:]) if is_evm(network) else stellar_addresses.encode_account(seed)


def token(network: str, code: str, *, issuer: str = "issuer") -> str:
    """The contract of a simulated token, in the form `Asset.contract` has on this network."""
    if is_evm(network):
        return address_named(network, f"{network} {code} {issuer}")
    return f"{code}:{address_named(network, f'{network} {issuer}')}"


def look_alike(network: str) -> str:
    """A token that calls itself USDC and is none: no profile knows its contract."""
    return token(network, "USDC", issuer="impostor")


def mint(network: str) -> str:
    """The sender of money that did not exist before: nothing else adds to the supply."""
    return evm_addresses.ZERO_ADDRESS if is_evm(network) else address_named(network, f"{network} issuer")


def factory(network: str) -> str:
    """The contract behind which the deposit addresses of an evm-like network stand."""
    return address_named(network, "factory")


def forwarder(network: str) -> str:
    """The contract whose code the deposit addresses of an evm-like network share."""
    return address_named(network, "forwarder")


def hot_wallet(network: str) -> str:
    return address_named(network, "hot wallet" if is_evm(network) else "receiving account")


def own_accounts(network: str) -> frozenset[str]:
    """The accounts and contracts there that are ours."""
    contracts_of_ours = {factory(network), forwarder(network)} if is_evm(network) else set()
    return frozenset({hot_wallet(network), *contracts_of_ours})


def native_endowment(network: str) -> int:
    return NATIVE_ENDOWMENT * int(10 ** REAL_PROFILES[network].native.decimals)


def price(network: str, fee_level: int) -> int:
    """What a unit of work costs at a level, in base units of the network's own coin."""
    return _USUAL_PRICES[network] * fee_level


def payout_work(network: str, payouts: int) -> int:
    """Gas, or operations, of a transfer with so many payouts."""
    return _EVM_PAYOUT_WORK * payouts if is_evm(network) else payouts


def sweep_work(deposits: int) -> int:
    """Gas of emptying so many deposit addresses."""
    return _EVM_SWEEP_WORK + _EVM_SWEEP_WORK_PER_DEPOSIT * deposits


def simulated_profile(network: str) -> NetworkProfile:
    """The profile of a simulated network, at the pace set just now."""
    return _profile(network, settings.SIMULATED_BLOCK_SECONDS)


@cache
def _profile(network: str, block_seconds: float) -> NetworkProfile:
    real = REAL_PROFILES[network]
    decimals = {code: 7 if real.family == "stellar" else 18 if code == "DAI" else 6 for code in COINS}
    return NetworkProfile(
        network=network,
        name=f"{real.name} (simulated)",
        family=real.family,
        chain_id=_CHAIN_IDS[network],
        block_seconds=block_seconds,
        assets={code: Asset(network, code, decimals[code], token(network, code)) for code in COINS},
        rules=_RULES[network],
        native=real.native,
        payouts_per_transfer=real.payouts_per_transfer,
        sweeps_per_transfer=real.sweeps_per_transfer,
        metadata={} if is_evm(network) else {"network_passphrase": PASSPHRASE},
    )


def contracts(network: str) -> dict[str, Asset]:
    """The accepted coins of a simulated network by contract."""
    return {asset.contract: asset for asset in _profile(network, 0).assets.values()}
