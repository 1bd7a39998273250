"""A network that nobody has, declared as payments.chains.networks declares them, on a node that charges for data.

OP-stack networks take a fee for a transaction's data besides its gas, name it in the receipt as `l1Fee`, and take it
from the sender's balance. Here that is done to a local node, which knows nothing of it.
"""

from __future__ import annotations

from typing import Any

import httpx
import orjson

from config.money import Asset
from payments.chains.evm.nodes.rpc import Rpc
from payments.chains.profiles import CreditRule, Network, NetworkProfile, Simulation, coins
from tests.evm.front import Front
from tests.evm.harness import NodeHarness
from tests.evm.network import devnet
from tests.evm.node import TestNode

MADE_UP, MADE_UP_ID = "madeup", 8453
DECIMALS = {"USDC": 6, "USDT": 6, "DAI": 18}
FEE_OF_A_DIGIT = 100_000_007
"""In the smallest unit of the native coin, for each hexadecimal digit of a transaction's data: no round number."""

NETWORK = Network(
    position=4,
    real=NetworkProfile(
        network=MADE_UP,
        name="Made-up",
        family="evm",
        chain_id=MADE_UP_ID,
        block_seconds=2,
        assets=coins(
            MADE_UP,
            DECIMALS,
            USDC="0x1111111111111111111111111111111111111111",
            USDT="0x2222222222222222222222222222222222222222",
            DAI="0x3333333333333333333333333333333333333333",
        ),
        decimals=DECIMALS,
        rules=((1_000, CreditRule(confirmations=4)), (None, CreditRule(1, require_finalized=True))),
        native=Asset(MADE_UP, "MUC", 18, ""),
        native_usd="3500",
        transfer_usd="1",
        final_within_seconds=30 * 60,
        finality_stall_seconds=40 * 60,
        fee_cap_gwei="50",
        gas_reserve=3,
    ),
    simulation=Simulation(
        chain_id=913_378_453,
        finality_depth=3,
        rules=((None, CreditRule(confirmations=2)),),
        usual_price=10**8,
    ),
)
PLACE = devnet.Place(31_339, 8547)
"""Where it would run on this machine."""


class DataFees:
    """What transactions paid for their data, by hash."""

    def __init__(self, rpc: Rpc) -> None:
        self._rpc = rpc
        self.paid: dict[str, int] = {}

    def charge(self, blocks: int = 1) -> None:
        """Take the fee from the sender of every transaction in the newest blocks."""
        head = int(self._rpc.call("eth_blockNumber"), 16)
        for height in range(head - blocks + 1, head + 1):
            for sent in self._rpc.call("eth_getBlockByNumber", hex(height), True)["transactions"]:
                held = int(self._rpc.call("eth_getBalance", sent["from"], "latest"), 16)
                fee = self.paid[sent["hash"]] = min(held, len(sent["input"]) * FEE_OF_A_DIGIT)
                self._rpc.call("anvil_setBalance", sent["from"], hex(held - fee))

    def put_into(self, questions: bytes, answers: bytes) -> bytes:
        """The answers of a batch, with the fee in every receipt."""
        methods = {question["id"]: question["method"] for question in orjson.loads(questions)}
        found: list[dict[str, Any]] = orjson.loads(answers)
        for answer in found:
            if methods[answer["id"]] == "eth_getTransactionReceipt" and answer.get("result"):
                answer["result"]["l1Fee"] = hex(self.paid.get(answer["result"]["transactionHash"], 0))
        return orjson.dumps(found)


class DataFeeNode(TestNode):
    """A local node whose blocks charge for data, and what its providers answer."""

    def __init__(self, node: TestNode) -> None:
        vars(self).update(vars(node))
        self.data_fees = DataFees(node.rpc)
        self._client = httpx.Client(timeout=60)

    def mine(self, blocks: int = 1) -> None:
        super().mine()  # all that waits
        self.data_fees.charge()
        if blocks > 1:
            super().mine(blocks - 1)

    def answer(self, provider: str, body: bytes) -> bytes:
        reply = self._client.post(self.url, content=body, headers={"Content-Type": "application/json"})
        return self.data_fees.put_into(body, reply.content)

    def report(self) -> dict[str, int]:
        return {"charged": len(self.data_fees.paid)}


class DataFeeFront(Front):
    def __init__(self, node: TestNode, fees: DataFees) -> None:
        super().__init__(node.rpc, node.url)
        self._data_fees = fees

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        reply = super().handle_request(request)
        return httpx.Response(200, content=self._data_fees.put_into(request.read(), reply.read()))


class DataFeeHarness(NodeHarness):
    """The contract suite's harness, charging for data."""

    def front_of(self, node: TestNode) -> Front:
        self.data_fees = DataFees(node.rpc)
        return DataFeeFront(node, self.data_fees)

    def mine(self, count: int = 1) -> None:
        for _ in range(count):
            super().mine()
            self.data_fees.charge()

    def reorg(self, depth: int, outcome: Any) -> None:
        super().reorg(depth, outcome)
        self.data_fees.charge(depth)
