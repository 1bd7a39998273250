"""A local network with everything on it: the factory, three tokens, a funded hot wallet and a payer with money.

All of its keys are public. Its chain ids belong to no real network, so that what is signed here is worth nothing there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from payments.chains.evm import abi
from payments.chains.evm.adapter import EvmChain
from payments.chains.evm.addresses import decode, encode, keccak256, parse
from payments.chains.evm.deposit_addresses import deployment
from payments.chains.evm.deposit_addresses.artifacts import artifact
from payments.chains.evm.deposit_addresses.deployment import DEPLOYER
from payments.chains.evm.factory import chain_by
from payments.chains.evm.nodes.rpc import Rpc
from payments.chains.networks import NETWORKS
from payments.chains.profiles import CreditRule, NetworkProfile
from payments.chains.settings_lookup import settings_of

CONTRACTS = Path(__file__).parent / "contracts"
"""Tokens with money for anyone who asks: for tests and local nodes, never for a real network."""


class Place(NamedTuple):
    """Where a network runs on this machine, and under which chain id: that of no real one."""

    chain_id: int
    port: int


PLACES = {"ethereum": Place(31_337, 8545), "polygon": Place(31_338, 8546)}

EPOCH_BLOCKS = 2
BLOCK_SECONDS = 2.0

# Who is who among the accounts that anvil's usual words give.
HOT_WALLET, HOT_WALLET_KEY = (
    "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
    "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
)
OWNER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
PAYER, PAYER_KEY = (
    "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
    "5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
)
MINTER = "0xa0Ee7A142d267C1f36714E4a8F75612F20a79720"

DEPLOYMENT = deployment.with_owner(OWNER)

# One token of each kind there is: as the standard wants it, without return values, with 18 decimals.
_KINDS = {"USDC": "StandardToken", "USDT": "SilentToken", "DAI": "StandardToken"}
_PAYER_HAS = 1_000_000
USUAL_DECIMALS = MappingProxyType({"USDC": 6, "USDT": 6, "DAI": 18})


def networks() -> tuple[str, ...]:
    """The names of the networks that can run on this machine."""
    return tuple(PLACES)


def prepare(rpc: Rpc, decimals: Mapping[str, int] = USUAL_DECIMALS, *, hot_wallet_has: int = 0) -> dict[str, str]:
    """Put everything on a fresh node, its tokens with these decimals, and so many whole coins of each into the hot
    wallet; returns their contracts by code, the same each time."""
    _send(rpc, MINTER, DEPLOYER, DEPLOYMENT.data)
    _send(rpc, OWNER, DEPLOYMENT.factory, deployment.appointment(HOT_WALLET, HOT_WALLET))
    tokens = {}
    for code, kind in _KINDS.items():
        name = code.encode()
        creation = artifact(kind, CONTRACTS).creation + abi.encode(name, name, decimals[code])
        tokens[code] = parse(_send(rpc, MINTER, None, creation)["contractAddress"])
        _mint(rpc, tokens[code], PAYER, _PAYER_HAS * 10 ** decimals[code])
    for code, contract in tokens.items():  # the contracts' addresses follow from how much was sent before them
        if hot_wallet_has:
            _mint(rpc, contract, HOT_WALLET, hot_wallet_has * 10 ** decimals[code])
    return tokens


@cache
def profile(network: str) -> NetworkProfile:
    """A real network's profile with what a local node has in its place."""
    real = NETWORKS[network].real
    assets = {code: replace(asset, contract=token(code)) for code, asset in real.assets.items()}
    rules = ((None, CreditRule(confirmations=2, require_finalized=real.credit_rule(0).require_finalized)),)
    return replace(
        real,
        name=f"{real.name} (local)",
        chain_id=PLACES[network].chain_id,
        block_seconds=BLOCK_SECONDS,
        assets=assets,
        rules=rules,
        finality_stall_seconds=60,
        explorer="",
        metadata={"public_rpc_url": url(network)},
    )


def chain(profile: NetworkProfile) -> EvmChain:
    """The adapter of a network that `manage.py devnet` runs: it needs no settings."""
    found = replace(
        settings_of(profile.network),
        rpc_urls=(url(profile.network),),
        one_may_decide=True,  # a node on this machine, and money of no worth
        factory=DEPLOYMENT.factory,
        address_key="",
        former_addresses={},
        owner=OWNER,
        hot_wallet=HOT_WALLET,
        cold_wallet="",
        keystore="",
        key_service="",
        hot_wallet_key=HOT_WALLET_KEY,
        signer_url="",
    )
    return chain_by(profile, found)


def token(code: str) -> str:
    """Where `prepare` puts the token of this name: computed, as the node computes it."""
    nonce = 1 + 2 * list(_KINDS).index(code)
    return encode(keccak256(b"\xd6\x94" + decode(MINTER) + bytes([nonce]))[12:])


def url(network: str) -> str:
    """Where `manage.py devnet` lets a network answer."""
    return f"http://127.0.0.1:{PLACES[network].port}"


def _mint(rpc: Rpc, contract: str, owner: str, units: int) -> None:
    _send(rpc, MINTER, contract, abi.call("mint(address,uint256)", owner, units))


def _send(rpc: Rpc, sender: str, to: str | None, data: bytes) -> dict[str, Any]:
    wanted = {"from": sender, "data": "0x" + data.hex(), "gas": hex(5_000_000)} | ({"to": to} if to else {})
    sent = rpc.call("eth_sendTransaction", wanted)
    rpc.call("evm_mine")
    receipt: dict[str, Any] = rpc.call("eth_getTransactionReceipt", sent)
    if receipt["status"] != "0x1":
        raise RuntimeError(f"the local node refused {wanted['data'][:10]} to {to}")
    return receipt
