"""A local node in the place of a real network: its chain id, and tokens at the very addresses the real ones have.

So nothing of ours needs to be told that it is a test: profiles, registry and adapters are those of production, and the
operator's settings alone say where the providers are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from payments.chains.evm import abi
from payments.chains.evm.addresses import encode
from payments.chains.evm.artifacts import DEVELOPMENT_CONTRACTS, artifact
from payments.chains.evm.development import devnet
from payments.chains.evm.questions import TRANSFER
from payments.chains.networks import REAL_PROFILES
from tests.evm.node import TestNode

PARTS_MAX = 100
"""Transfers that the payer's contract makes in one transaction."""

_STOCK = 10**30
_SLOTS_OF_A_TOKEN = 6
"""Where a token keeps what it was deployed with: name, symbol and decimals."""

Part = tuple[str, str, int]
"""Code of the coin, recipient, base units."""


class Mainnet:
    """One network, ready to be paid on."""

    def __init__(self, network: str, node: TestNode) -> None:
        self.network, self.node = network, node
        self.tokens = {code: asset.contract for code, asset in REAL_PROFILES[network].assets.items()}
        for code, token in devnet.prepare(node.rpc).items():
            self._move(token, self.tokens[code])
        self._payer = node.deploy(artifact("Payer", DEVELOPMENT_CONTRACTS).creation)
        for token in self.tokens.values():
            node.mint(token, self._payer, _STOCK)

    @property
    def height(self) -> int:
        return int(self.node.rpc.call("eth_blockNumber"), 16)

    def pay(self, parts: Sequence[Part]) -> list[str]:
        """Real transfers, as many to a transaction as fit, into the next block; the hashes."""
        return [self._pay(parts[start : start + PARTS_MAX]) for start in range(0, len(parts), PARTS_MAX)]

    def held(self, code: str, accounts: Iterable[str]) -> dict[str, int]:
        """`balanceOf` of each, asked of the token itself."""
        return {account: self.node.held(self.tokens[code], account) for account in accounts}

    def native_held(self, account: str) -> int:
        return int(self.node.rpc.call("eth_getBalance", account, "latest"), 16)

    def fund(self, code: str, account: str, amount: int) -> None:
        self.node.mint(self.tokens[code], account, amount)

    def let_time_pass(self, seconds: int) -> None:
        self.node.rpc.call("evm_increaseTime", seconds)
        self.node.mine()

    def receipt(self, transaction_hash: str) -> dict[str, Any]:
        found: dict[str, Any] = self.node.rpc.call("eth_getTransactionReceipt", transaction_hash)
        return found

    def left(self, account: str) -> list[Part]:
        """Every transfer out of an account there ever was, as the node itself tells it."""
        codes = {token.lower(): code for code, token in self.tokens.items()}
        asked = {
            "fromBlock": "0x0",
            "toBlock": "latest",
            "address": list(codes),
            "topics": [TRANSFER, abi.address_topic(account)],
        }
        return [
            (codes[log["address"]], encode(bytes.fromhex(log["topics"][2][-40:])), int(log["data"], 16))
            for log in self.node.rpc.call("eth_getLogs", asked)
        ]

    def used_nonces(self, account: str) -> int:
        """Transactions of the account that stand in blocks."""
        return int(self.node.rpc.call("eth_getTransactionCount", account, "latest"), 16)

    def _pay(self, parts: Sequence[Part]) -> str:
        # A list of structures: offset, length, then three words each.
        words = [word for code, recipient, amount in parts for word in (self.tokens[code], recipient, amount)]
        call = abi.selector("pay((address,address,uint256)[])") + abi.encode(32, len(parts), *words)
        return self.node.send(devnet.PAYER, self._payer, call)

    def _move(self, token: str, address: str) -> None:
        rpc = self.node.rpc
        rpc.call("anvil_setCode", address, rpc.call("eth_getCode", token, "latest"))
        for slot in range(_SLOTS_OF_A_TOKEN):
            rpc.call("anvil_setStorageAt", address, hex(slot), rpc.call("eth_getStorageAt", token, hex(slot), "latest"))


def settings_for(providers: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What an operator sets to take payments in production on these networks, by the URLs of their providers."""
    return {
        "PRODUCTION_NETWORKS": list(providers),
        "EVM_PROVIDERS": {network: list(urls) for network, urls in providers.items()},
        "EVM_SINGLE_PROVIDER_NETWORKS": [network for network, urls in providers.items() if len(urls) == 1],
        "EVM_FACTORY": devnet.DEPLOYMENT.factory,
        "EVM_OWNER": devnet.OWNER,
        "EVM_HOT_WALLET": devnet.HOT_WALLET,
        "EVM_HOT_WALLET_KEY": devnet.HOT_WALLET_KEY,
        "EVM_KEYSTORE": "",
    }


def environment_for(providers: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The same as variables of the environment, for processes that are yet to be started."""
    found = settings_for(providers)
    names = ("EVM_FACTORY", "EVM_OWNER", "EVM_HOT_WALLET", "EVM_HOT_WALLET_KEY")
    lists = {name: ",".join(found[name]) for name in ("PRODUCTION_NETWORKS", "EVM_SINGLE_PROVIDER_NETWORKS")}
    urls = {f"{network.upper()}_RPC_URLS": ",".join(those) for network, those in providers.items()}
    return urls | {name: found[name] for name in names} | lists
