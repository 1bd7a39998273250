"""A local node in the place of a busy ethereum: strangers pay each other all the time, and now and then one pays us."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import httpx
import orjson

from payments.chains.evm import abi
from payments.chains.evm.addresses import encode
from payments.chains.evm.nodes.questions import TRANSFER
from payments.chains.evm.nodes.rpc import Rpc
from payments.chains.networks import NETWORKS
from tests.evm.compiling import compiled
from tests.evm.network import devnet
from tests.evm.network.node import LocalNode
from tests.networks import ETHEREUM

CHAIN_ID = 1
STRANGERS = 10_000
BLOCKS_APART, TRANSFERS_AT_ONCE = 5, 50
BLOCKS_PER_QUESTION = 500
AMOUNT = 5_000_000

_DECIMALS_SLOT = "0x1"
"""The compiler keeps the first for a lock."""

_SOURCE = Path(__file__).with_name("contracts") / "Crowd.vy"

RawTransfer = tuple[str, str, str, int, int, str, int]
"""Contract, sender, recipient, amount, height, transaction hash, place in the block."""


class Crowd:
    """The network, with a token that only tells of transfers where the real coins are."""

    def __init__(self, node: LocalNode) -> None:
        self.url = node.url
        self.rpc = Rpc(node.url, chain_id=CHAIN_ID)
        devnet.prepare(self.rpc)
        code = compiled(_SOURCE)["runtimeBytecode"]
        coins = NETWORKS[ETHEREUM].real.assets.values()
        for coin in coins:
            self.rpc.call("anvil_setCode", coin.contract, code)
            self.rpc.call("anvil_setStorageAt", coin.contract, _DECIMALS_SLOT, f"0x{coin.decimals:064x}")
        self.contracts = [coin.contract for coin in coins]
        self._random = random.Random(1)
        self._strangers = [encode(self._random.randbytes(20)) for _ in range(STRANGERS)]

    @property
    def height(self) -> int:
        return int(self.rpc.call("eth_blockNumber"), 16)

    def mine(self, blocks: int) -> None:
        self.rpc.call("anvil_mine", hex(blocks))

    def pay(self, *recipients: str) -> None:
        """One on-chain transaction for the next block."""
        call = abi.selector("tell(address[],uint256)") + abi.encode(64, AMOUNT, len(recipients), *recipients)
        wanted = {"to": self._random.choice(self.contracts), "data": "0x" + call.hex(), "gas": hex(5_000_000)}
        self.rpc.call("eth_sendTransaction", {"from": devnet.PAYER} | wanted)

    def live(self, blocks: int, deposits: Sequence[str]) -> int:
        """Let so many blocks pass in which these addresses are paid once each; answers how often anybody was."""
        turns = blocks // BLOCKS_APART
        for turn in range(turns):
            self.pay(*self._random.choices(self._strangers, k=TRANSFERS_AT_ONCE))
            for deposit in deposits[turn * len(deposits) // turns : (turn + 1) * len(deposits) // turns]:
                self.pay(deposit)
            self.mine(BLOCKS_APART)
        return turns * TRANSFERS_AT_ONCE + len(deposits)

    def read_raw(self, first: int, last: int) -> list[RawTransfer]:
        """What reading the same blocks costs at least: ask for the events, and take them apart by hand."""
        found: list[RawTransfer] = []
        with httpx.Client() as client:
            while first <= last:
                until = min(last, first + BLOCKS_PER_QUESTION - 1)
                wanted = {
                    "address": self.contracts,
                    "topics": [TRANSFER],
                    "fromBlock": hex(first),
                    "toBlock": hex(until),
                }
                asked = {"jsonrpc": "2.0", "id": 1, "method": "eth_getLogs", "params": [wanted]}
                found += [
                    (
                        log["address"],
                        "0x" + log["topics"][1][26:],
                        "0x" + log["topics"][2][26:],
                        int(log["data"], 16),
                        int(log["blockNumber"], 16),
                        log["transactionHash"],
                        int(log["logIndex"], 16),
                    )
                    for log in orjson.loads(client.post(self.url, json=asked).content)["result"]
                ]
                first = until + 1
        return found
