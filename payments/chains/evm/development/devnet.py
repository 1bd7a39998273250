"""A local network with everything on it: the factory, three tokens, a funded hot wallet and a payer with money.

All of its keys are public. Its chain ids belong to no real network, so that what is signed here is worth nothing there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from payments.chains.base import CreditRule, NetworkProfile
from payments.chains.evm import abi
from payments.chains.evm.addresses import encode, keccak256, parse
from payments.chains.evm.artifacts import DEVELOPMENT_CONTRACTS, artifact
from payments.chains.evm.deployment import DEPLOYER, Deployment
from payments.chains.evm.development.node import MNEMONIC
from payments.chains.evm.rpc import Rpc
from payments.chains.networks import ETHEREUM, POLYGON, REAL_PROFILES

CHAIN_IDS = {ETHEREUM: 31_337, POLYGON: 31_338}
PORTS = {ETHEREUM: 8545, POLYGON: 8546}
EPOCH_BLOCKS = 2
BLOCK_SECONDS = 2.0

# Who is who among the node's accounts.
_HOT_WALLET, _OWNER, _PAYER, _MINTER = 0, 1, 2, 9

# One token of each kind there is: as the standard wants it, without return values, with 18 decimals.
_KINDS = {"USDC": "StandardToken", "USDT": "SilentToken", "DAI": "StandardToken"}
_PAYER_HAS = 1_000_000


@dataclass(frozen=True, slots=True)
class Devnet:
    """What stands on a prepared node."""

    deployment: Deployment
    payer: str
    minter: str
    tokens: Mapping[str, str]

    @property
    def factory(self) -> str:
        return self.deployment.factory


def prepare(rpc: Rpc) -> Devnet:
    """Put everything on a fresh node. The same addresses come out each time."""
    accounts = [parse(account) for account in rpc.call("eth_accounts")]
    wallet, minter, payer = accounts[_HOT_WALLET], accounts[_MINTER], accounts[_PAYER]
    deployment = Deployment(owner=accounts[_OWNER], operator=wallet, treasury=wallet)
    _send(rpc, minter, DEPLOYER, deployment.data)
    tokens = {}
    for code, kind in _KINDS.items():
        decimals = REAL_PROFILES[ETHEREUM].assets[code].decimals
        name = code.encode()
        creation = artifact(kind, DEVELOPMENT_CONTRACTS).creation + abi.encode(name, name, decimals)
        tokens[code] = parse(_send(rpc, minter, None, creation)["contractAddress"])
        _send(rpc, minter, tokens[code], abi.call("mint(address,uint256)", payer, _PAYER_HAS * 10**decimals))
    return Devnet(deployment, payer, minter, tokens)


def profile(network: str) -> NetworkProfile:
    """A real network's profile with what a local node has in its place."""
    real = REAL_PROFILES[network]
    assets = {code: replace(asset, contract=token(code)) for code, asset in real.assets.items()}
    rules = ((None, CreditRule(confirmations=2, require_finalized=network == POLYGON)),)
    return replace(
        real,
        chain_id=CHAIN_IDS[network],
        block_seconds=BLOCK_SECONDS,
        assets=assets,
        rules=rules,
        metadata={},
    )


def token(code: str) -> str:
    """Where `prepare` puts the token of this name: computed, as the node computes it."""
    nonce = 1 + 2 * list(_KINDS).index(code)
    return encode(keccak256(b"\xd6\x94" + bytes.fromhex(account(_MINTER)[2:]) + bytes([nonce]))[12:])


def account(number: int) -> str:
    return str(_local_account(number).address)


def key(number: int) -> str:
    """A private key that everybody knows."""
    return "0x" + bytes(_local_account(number).key).hex()


def hot_wallet_key() -> str:
    return key(_HOT_WALLET)


def payer_key() -> str:
    return key(_PAYER)


def settings_lines(urls: Mapping[str, str], devnet: Devnet) -> list[str]:
    """What to set for Ballast to use these nodes."""
    return [
        *(f"{network.upper()}_RPC_URLS={url}" for network, url in urls.items()),
        f"EVM_FACTORY={devnet.factory}",
        f"EVM_OWNER={devnet.deployment.owner}",
        f"EVM_HOT_WALLET={devnet.deployment.treasury}",
        f"EVM_HOT_WALLET_KEY={hot_wallet_key()}",
    ]


def _send(rpc: Rpc, sender: str, to: str | None, data: bytes) -> dict[str, Any]:
    wanted = {"from": sender, "data": "0x" + data.hex(), "gas": hex(5_000_000)} | ({"to": to} if to else {})
    sent = rpc.call("eth_sendTransaction", wanted)
    rpc.call("evm_mine")
    receipt: dict[str, Any] = rpc.call("eth_getTransactionReceipt", sent)
    if receipt["status"] != "0x1":
        raise RuntimeError(f"the local node refused {wanted['data'][:10]} to {to}")
    return receipt


def _local_account(number: int) -> Any:
    from eth_account import Account

    Account.enable_unaudited_hdwallet_features()
    return Account.from_mnemonic(MNEMONIC, account_path=f"m/44'/60'/0'/0/{number}")
