"""A local node in the place of a real network: its chain id, and tokens at the very addresses the real ones have.

So nothing of ours needs to be told that it is a test: profiles, registry and adapters are those of production, and the
operator's settings alone say where the providers are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Any

from django.conf import settings

from payments.chains.evm import abi
from payments.chains.evm.addresses import encode
from payments.chains.evm.deposit_addresses.artifacts import artifact
from payments.chains.evm.nodes.questions import TRANSFER
from payments.chains.networks import NETWORKS
from payments.chains.settings_parser import MAINNET, AllNetworkSettings, NetworkSettings, urls_name
from tests.evm.derivations import ADDRESS_KEY
from tests.evm.network import devnet
from tests.evm.node import TestNode, running_node

PARTS_MAX = 100
"""Transfers that the payer's contract makes in one transaction."""

_STOCK = 10**30
SLOTS_OF_A_TOKEN = 6
"""Where a token keeps what it was deployed with: name, symbol and decimals."""

Part = tuple[str, str, int]
"""Code of the coin, recipient, base units."""


class Mainnet:
    """One network, ready to be paid on."""

    def __init__(self, network: str, node: TestNode) -> None:
        self.network, self.node = network, node
        self.tokens = {code: asset.contract for code, asset in NETWORKS[network].real.assets.items()}
        for code, token in devnet.prepare(node.rpc).items():
            self._move(token, self.tokens[code])
        self._payer = node.deploy(artifact("Payer", devnet.CONTRACTS).creation)
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
        for slot in range(SLOTS_OF_A_TOKEN):
            rpc.call("anvil_setStorageAt", address, hex(slot), rpc.call("eth_getStorageAt", token, hex(slot), "latest"))


@cache
def prepared_mainnet(network: str) -> Mainnet:
    """The network on a node of its own, prepared once for the whole run: whoever uses it puts the node back."""
    return Mainnet(network, running_node(NETWORKS[network].real.evm_chain_id, "prepared"))


def settings_for(providers: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What an operator sets to take payments in production on these networks, by the URLs of their providers."""
    found: AllNetworkSettings = settings.NETWORK_SETTINGS
    for network, urls in providers.items():
        real = NETWORKS[network].real
        found = found | {
            (MAINNET, network): NetworkSettings(
                rpc_urls=tuple(urls),
                one_may_decide=len(urls) == 1,
                factory=devnet.DEPLOYMENT.factory,
                address_key=ADDRESS_KEY,
                owner=devnet.OWNER,
                hot_wallet=devnet.HOT_WALLET,
                hot_wallet_key=devnet.HOT_WALLET_KEY,
                tip_floor_gwei=Decimal(real.tip_floor_gwei),
                fee_cap_gwei=Decimal(real.fee_cap_gwei),
            )
        }
    return {"PRODUCTION_NETWORKS": list(providers), "NETWORK_SETTINGS": found}


def settings_for_production_alone(providers: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The same with no network in the sandbox, so that no round of work goes through the simulated ones as well."""
    return settings_for(providers) | {"SANDBOX_CHAIN": "testnet"}  # and no test network has a provider


def environment_for(providers: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """What `settings_for` returns as variables of the environment, for processes that are yet to be started."""
    return {
        "PRODUCTION_NETWORKS": ",".join(providers),
        "EVM_SINGLE_PROVIDER_NETWORKS": ",".join(network for network, urls in providers.items() if len(urls) == 1),
        "EVM_FACTORY": devnet.DEPLOYMENT.factory,
        "EVM_ADDRESS_KEY": ADDRESS_KEY,
        "EVM_OWNER": devnet.OWNER,
        "EVM_HOT_WALLET": devnet.HOT_WALLET,
        "EVM_HOT_WALLET_KEY": devnet.HOT_WALLET_KEY,
        **{urls_name(MAINNET, network): ",".join(urls) for network, urls in providers.items()},
    }
