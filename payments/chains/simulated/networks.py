"""What follows for a simulated network from its data: its profile, its addresses and tokens, what work costs.

Contracts and the passphrase belong to no real network, so that a link made in the sandbox can never spend real money.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cache, lru_cache

from django.conf import settings

from config.coins import COINS
from config.money import Asset
from payments.chains.evm import addresses as evm_addresses
from payments.chains.networks import NETWORKS
from payments.chains.profiles import NetworkProfile, coins
from payments.chains.protocol.addresses import DepositAddress
from payments.chains.stellar import addresses as stellar_addresses

PASSPHRASE = "Ballast Simulated Network ; 2026"  # noqa: S105  a network's name, no secret

NATIVE_ENDOWMENT = 1_000_000
"""Whole coins of the network's own that the hot wallet holds from the first block: sending needs no preparation."""

_SWEEP_WORK, _SWEEP_WORK_PER_DEPOSIT = 30_000, 50_000


def is_evm(network: str) -> bool:
    return NETWORKS[network].real.family == "evm"


@cache
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


def cold_wallet(network: str) -> str:
    return address_named(network, "cold wallet")


def treasury(network: str) -> str:
    """Where sweeps go."""
    return cold_wallet(network) if is_evm(network) and settings.SIMULATED_SWEEPS_TO == "cold" else hot_wallet(network)


def first_sequence(network: str) -> int:
    """The first sequence of an account: on stellar it follows from the ledger it was made in, here the first one."""
    return 0 if is_evm(network) else (1 << 32) + 1


def channels(network: str) -> tuple[str, ...]:
    """The accounts whose sequences payouts use: the hot wallet, or as many others as the network's data set."""
    number = NETWORKS[network].simulation.channels
    return tuple(address_named(network, f"channel {each}") for each in range(number)) or (hot_wallet(network),)


def own_accounts(network: str) -> frozenset[str]:
    """The accounts and contracts there that are ours."""
    contracts_of_ours = {factory(network), forwarder(network)} if is_evm(network) else set()
    return frozenset({hot_wallet(network), *channels(network), *contracts_of_ours})


def native_endowment(network: str) -> int:
    return NATIVE_ENDOWMENT * int(10 ** NETWORKS[network].real.native.decimals)


def price(network: str, fee_level: int) -> int:
    """What a unit of work costs at a level, in base units of the native coin."""
    return NETWORKS[network].simulation.usual_price * fee_level


def payout_work(network: str, payouts: int) -> int:
    """Gas, or operations, of a transfer with so many payouts."""
    return NETWORKS[network].simulation.payout_work * payouts


def sweep_work(deposits: int) -> int:
    """Gas of emptying so many deposit addresses."""
    return _SWEEP_WORK + _SWEEP_WORK_PER_DEPOSIT * deposits


def simulated_profile(network: str) -> NetworkProfile:
    """The profile of a simulated network, at the pace set just now."""
    return _profile(network, settings.SIMULATED_BLOCK_SECONDS)


@cache
def _profile(network: str, block_seconds: float) -> NetworkProfile:
    real, simulation = NETWORKS[network].real, NETWORKS[network].simulation
    return replace(
        real,
        name=f"{real.name} (simulated)",
        chain_id=simulation.chain_id,
        block_seconds=block_seconds,
        assets=coins(network, real.decimals, **{code: token(network, code) for code in COINS}),
        rules=simulation.rules,
        finality_stall_seconds=120,
        explorer="",
        metadata={} if is_evm(network) else {"network_passphrase": PASSPHRASE},
    )


def contracts(network: str) -> dict[str, Asset]:
    """The accepted coins of a simulated network by contract."""
    return {asset.contract: asset for asset in _profile(network, 0).assets.values()}


def deposit_address(profile: NetworkProfile, number: int) -> DepositAddress:
    """The deposit address of the payment with this number."""
    if not profile.shares_account:
        return _clone(profile.network, number)
    account = hot_wallet(profile.network)
    memo = stellar_addresses.memo_of(number)
    return DepositAddress(account, memo=str(memo), muxed=stellar_addresses.mux(account, memo))


@lru_cache(maxsize=2_000)
def _clone(network: str, sequence: int) -> DepositAddress:
    """The deposit address, remembered because every view of a network queries the addresses of the next payments."""
    return DepositAddress(
        evm_addresses.clone_address(factory=factory(network), implementation=forwarder(network), salt=sequence)
    )
