"""A local node for tests: one process per chain id for the whole run, put back as it was after each test."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest

from payments.chains.evm import abi
from payments.chains.evm.deposit_addresses.artifacts import artifact
from payments.chains.evm.nodes.rpc import Rpc
from tests.evm.network import devnet
from tests.evm.network.node import LocalNode, NodeMissing

ETHEREUM_ID, POLYGON_ID = 1, 137
EPOCH_BLOCKS = {ETHEREUM_ID: 3, POLYGON_ID: 1}

HISTORY = 20_000
"""Blocks of a whole run: the node counts those that were undone, and lets go of the states of older ones for them."""

Receipt = dict[str, Any]


class TestNode:
    """What tests let a chain do."""

    __test__ = False

    def __init__(self, node: LocalNode) -> None:
        self.chain_id = node.chain_id
        self.url = node.url
        self.rpc = Rpc(node.url, chain_id=node.chain_id)
        self.accounts: list[str] = self.rpc.call("eth_accounts")

    def mine(self, blocks: int = 1) -> None:
        self.rpc.call("anvil_mine", hex(blocks))

    def send(self, sender: str, to: str | None, data: bytes = b"", *, units: int = 0, gas: int | None = None) -> str:
        """Put into the pool; its hash. Anyone may send for anyone here."""
        self.rpc.call("anvil_setBalance", sender, hex(10**24))
        wanted = {"from": sender, "data": "0x" + data.hex(), "value": hex(units), "gas": hex(gas or 15_000_000)}
        sent: str = self.rpc.call("eth_sendTransaction", wanted | ({"to": to} if to else {}))
        return sent

    def transact(self, sender: str, to: str | None, data: bytes = b"", *, units: int = 0) -> Receipt:
        """Send into a block of its own; what became of it."""
        sent = self.send(sender, to, data, units=units)
        self.mine()
        receipt: Receipt = self.rpc.call("eth_getTransactionReceipt", sent)
        return receipt

    def succeed(self, sender: str, to: str | None, data: bytes = b"", *, units: int = 0) -> Receipt:
        receipt = self.transact(sender, to, data, units=units)
        assert receipt["status"] == "0x1", receipt
        return receipt

    def ask(self, contract: str, data: bytes, *, sender: str | None = None) -> bytes:
        wanted = {"to": contract, "data": "0x" + data.hex()} | ({"from": sender} if sender else {})
        return bytes.fromhex(self.rpc.call("eth_call", wanted, "latest")[2:])

    def deploy(self, creation: bytes) -> str:
        created: str = self.succeed(self.accounts[9], None, creation)["contractAddress"]
        return created

    def deploy_token(self, kind: str, symbol: str, decimals: int) -> str:
        """A token of one of the kinds in the development contracts."""
        name = symbol.encode()
        found = artifact(kind, devnet.CONTRACTS)
        return self.deploy(found.creation + abi.encode(name, name, decimals))

    def mint(self, token: str, receiver: str, amount: int) -> None:
        self.succeed(self.accounts[9], token, abi.call("mint(address,uint256)", receiver, amount))

    def held(self, token: str, account: str) -> int:
        return abi.uint(self.ask(token, abi.call("balanceOf(address)", account)))

    @contextmanager
    def put_back(self) -> Iterator[None]:
        """Undo whatever happens inside. The node sets its clock back as well when it does, so it is put right first."""
        snapshot = self.rpc.call("evm_snapshot")
        self.rpc.call("evm_setTime", hex(int(time.time())))
        try:
            yield
        finally:
            self.rpc.call("anvil_dropAllTransactions")
            assert self.rpc.call("evm_revert", snapshot)

    @contextmanager
    def mining_at_once(self) -> Iterator[None]:
        """Every transaction gets a block as it arrives."""
        self.rpc.call("evm_setAutomine", True)
        try:
            yield
        finally:
            self.rpc.call("evm_setAutomine", False)


_running: list[LocalNode] = []


@cache
def running_node(chain_id: int, purpose: str = "", epoch_blocks: int = 0) -> TestNode:
    """The node of this chain id, started when the first test needs it. Skips where there is none, except in CI.

    What is put on a node for good gives it a purpose of its own.
    """
    try:
        node = LocalNode(chain_id=chain_id, epoch_blocks=epoch_blocks or EPOCH_BLOCKS[chain_id], history=HISTORY)
    except NodeMissing as missing:
        if os.environ.get("CI"):
            pytest.fail(str(missing))
        pytest.skip(str(missing))
    node.start()
    _running.append(node)
    return TestNode(node)


def stop_nodes() -> None:
    while _running:
        _running.pop().stop()
    running_node.cache_clear()
