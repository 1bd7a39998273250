"""`python -m tests.evm.reorgs --count 500 --seed 1`: reorganisations of every depth, one after another, on a real node.

After each reading, what the adapter has told must be what the chain holds: nothing twice, nothing else, nothing less.
"""
# ruff: noqa: T201 - its report goes to standard output

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import Counter
from typing import Any, get_args

# As conftest does for pytest: the settings load, and no database is needed.
os.environ.setdefault("BALLAST_MODE", "test")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from payments.chains.evm import abi
from payments.chains.evm.nodes.questions import TRANSFER
from payments.chains.protocol.transfers import IncomingTransfer
from tests.chains.harness import Outcome, Reader
from tests.evm.harness import NodeHarness, prepared
from tests.evm.node import stop_nodes

EPOCH_BLOCKS = {"ethereum": 32, "polygon": 80}
"""So that reorganisations go up to 64 and 160 blocks deep."""

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

Fact = tuple[str, str, int, str, str, int]


class Play:
    """One network, some deposit addresses, and a reader that follows them."""

    def __init__(self, network: str, seed: int) -> None:
        self._random = random.Random(f"{network} {seed}")
        self._harness = NodeHarness(network, EPOCH_BLOCKS[network])
        self._node = prepared(network, EPOCH_BLOCKS[network]).node
        chain = self._harness.chain
        self._addresses = [chain.deposit_address(number).address for number in range(1, 6)]
        self._contracts = [asset.contract for asset in chain.profile.assets.values()]
        self._reader = Reader(chain, *self._addresses)
        self._reader.read()
        self._start = chain.reading.head().height
        self.depths = Counter[int]()
        self.outcomes = Counter[str]()

    def round(self) -> None:
        """Some blocks with deposits, a reorganisation, and a look after each."""
        self._grow(self._random.randint(1, 8))
        if self._random.random() < 0.8:  # now and then nobody looks before it happens
            self.look()
        head = self._height()
        depth = min(self._harness.deepest_reorg, head - self._start)
        depth = self._random.choice((1, 2, self._random.randint(1, depth), depth))
        outcome = self._random.choice(OUTCOMES)
        self._harness.reorg(min(depth, head - self._start), outcome)
        self.depths[depth] += 1
        self.outcomes[outcome] += 1
        if self._random.random() < 0.5:
            self.look()
        self._grow(self._random.randint(0, 3))
        self.look()

    def look(self) -> None:
        """Read what is new, and compare everything with the node's own list."""
        self._reader.read()
        told = Counter(_fact(transfer) for transfer in self._reader.known.values())
        truth = Counter(self._facts())
        assert told == truth, f"missed {truth - told}, invented {told - truth}"

    def _grow(self, blocks: int) -> None:
        for _ in range(blocks):
            for _ in range(self._random.choice((0, 0, 1, 2))):
                parts = [
                    (self._random.choice(self._contracts), self._random.randint(1, 10**6), recipient, None)
                    for recipient in self._random.choices(self._addresses, k=self._random.randint(1, 3))
                ]
                self._harness.pay(*parts)
            self._harness.mine()

    def _height(self) -> int:
        return int(self._node.rpc.call("eth_blockNumber"), 16)

    def _facts(self) -> list[Fact]:
        wanted = [abi.address_topic(address) for address in self._addresses]
        asked: dict[str, Any] = {"fromBlock": hex(self._start), "toBlock": "latest", "topics": [TRANSFER, None, wanted]}
        return [
            (
                log["transactionHash"],
                log["blockHash"],
                int(log["blockNumber"], 16),
                log["address"].lower(),
                log["topics"][2],
                int(log["data"], 16),
            )
            for log in self._node.rpc.call("eth_getLogs", asked)
        ]


def _fact(transfer: IncomingTransfer) -> Fact:
    return (
        transfer.transaction_hash,
        transfer.block_hash,
        transfer.height,
        transfer.contract.lower(),
        abi.address_topic(transfer.recipient),
        transfer.amount,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500, help="Reorganisations on each network.")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    try:
        for network in EPOCH_BLOCKS:
            started, play = time.monotonic(), Play(network, options.seed)
            for _ in range(options.count):
                play.round()
            print(
                f"{network}: {options.count} reorganisations up to {max(play.depths)} blocks deep "
                f"({dict(play.outcomes)}): nothing doubled, invented or missed; {time.monotonic() - started:.0f} s"
            )
    finally:
        stop_nodes()
    return 0


if __name__ == "__main__":
    sys.exit(main())
