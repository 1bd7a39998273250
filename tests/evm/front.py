"""What stands between the adapter and the local node: a pool that behaves as geth's does, and faults to order.

The node's own pool takes replacements that real ones refuse, and throws out what has become too cheap.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson

from payments.chains.evm.addresses import keccak256
from payments.chains.evm.keys.accounts import Account
from payments.chains.evm.keys.signing import Transaction, read_signed
from payments.chains.evm.nodes.rpc import Rpc
from tests.evm.fakes import Refusal

GWEI = 10**9
USUAL_TIP = GWEI // 10
PROVIDERS = 2
"""How many providers speak through one front."""


@dataclass(frozen=True)
class Waiting:
    """Signed bytes in the pool."""

    raw: bytes
    sender: str
    content: Transaction

    @property
    def transaction_hash(self) -> str:
        return "0x" + keccak256(self.raw).hex()


class Line(threading.local):
    """A connection to the node for each thread. Most of the time of a call by httpx is its own."""

    def __init__(self, url: str) -> None:
        self._place = urlsplit(url).netloc
        self._connection: HTTPConnection | None = None

    def ask(self, questions: list[Any]) -> list[Any]:
        content = orjson.dumps(questions)
        try:
            return self._post(content)
        except (HTTPException, ConnectionError):  # the node closes those that have been idle
            self._connection = None
            return self._post(content)

    def _post(self, content: bytes) -> list[Any]:
        if self._connection is None:
            self._connection = HTTPConnection(self._place, timeout=60)
        self._connection.request("POST", "/", content, {"Content-Type": "application/json"})
        answers: list[Any] = orjson.loads(self._connection.getresponse().read())
        return answers


class Front(httpx.BaseTransport):
    def __init__(self, node: Rpc, url: str) -> None:
        self._node = node
        self._line = Line(url)
        self.pool: dict[tuple[str, int], Waiting] = {}
        self.raws: dict[str, bytes] = {}
        """Everything that was ever sent, by hash."""
        self.is_broken = False
        self._to_lose = Counter[str]()
        self.loses_next = self.times_out_next = False

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if self.is_broken:
            raise httpx.ConnectError("nobody there", request=request)
        questions = orjson.loads(request.read())
        is_sending = any(question["method"] == "eth_sendRawTransaction" for question in questions)
        ours = {question["id"]: self._answer(question) for question in questions}
        theirs = [question for question in questions if ours[question["id"]] is None]
        answers = [answer for answer in ours.values() if answer is not None]
        if theirs:
            answers += self._line.ask(theirs)
        if is_sending and self.times_out_next:
            raise httpx.ReadTimeout("too slow", request=request)
        return httpx.Response(200, content=orjson.dumps(answers))

    def take(self, raw: bytes) -> str:
        """Into the pool, or Refusal in geth's words."""
        entry = Waiting(raw, Account.recover_transaction(raw), read_signed(raw))
        place = (entry.sender, entry.content.nonce)
        if (known := self.pool.get(place)) is not None and known.raw == raw:
            raise Refusal("already known")
        if entry.content.nonce < self._number("eth_getTransactionCount", entry.sender):
            raise Refusal("nonce too low")
        if self._number("eth_getBalance", entry.sender) < entry.content.fee_limit_units + entry.content.units:
            raise Refusal("insufficient funds for gas * price + value")
        if known is not None and not _is_raised(known.content, entry.content):
            raise Refusal("replacement transaction underpriced")
        self.pool[place] = entry
        self.raws[entry.transaction_hash] = raw
        return entry.transaction_hash

    def next_nonce(self, sender: str) -> int:
        """The first that nothing in a block and nothing in the pool has used."""
        number = self._number("eth_getTransactionCount", sender)
        while (sender, number) in self.pool:
            number += 1
        return number

    def hand_over(self, base_fee: int) -> None:
        """Give the node what fits into its next block, in the order of the nonces."""
        for place in sorted(self.pool, key=lambda place: place[1]):
            entry = self.pool[place]
            due = self._number("eth_getTransactionCount", entry.sender, "pending")
            can_pay = self._number("eth_getBalance", entry.sender) >= entry.content.fee_limit_units
            if entry.content.nonce == due and entry.content.max_fee >= base_fee and can_pay:
                self._node.call("eth_sendRawTransaction", "0x" + entry.raw.hex())

    def forget_used(self) -> None:
        """Let go of what is in a block, and of what another took the nonce of."""
        next_nonces = {sender: self._number("eth_getTransactionCount", sender) for sender, _ in self.pool}
        self.pool = {place: entry for place, entry in self.pool.items() if place[1] >= next_nonces[place[0]]}

    def _answer(self, question: dict[str, Any]) -> dict[str, Any] | None:
        """What the pool says; None when it is for the node to answer."""
        frame = {"jsonrpc": "2.0", "id": question["id"]}
        if question["method"] == "eth_maxPriorityFeePerGas":
            return frame | {"result": hex(USUAL_TIP)}
        if question["method"] == "eth_getTransactionByHash":
            found = next((each for each in self.pool.values() if each.transaction_hash == question["params"][0]), None)
            return None if found is None else frame | {"result": _pending(found)}
        if question["method"] == "eth_sendRawTransaction":
            try:
                return frame | {"result": self._receive(bytes.fromhex(question["params"][0][2:]))}
            except Refusal as refusal:
                return frame | {"error": refusal.error}
        return None

    def _receive(self, raw: bytes) -> str:
        transaction_hash = "0x" + keccak256(raw).hex()
        if self.loses_next:
            self.loses_next = False
            self._to_lose[transaction_hash] = PROVIDERS
        if self._to_lose[transaction_hash]:
            self._to_lose[transaction_hash] -= 1
            return transaction_hash
        return self.take(raw)

    def _number(self, method: str, account: str, block: str = "latest") -> int:
        return int(self._node.call(method, account, block), 16)


def _is_raised(known: Transaction, wanted: Transaction) -> bool:
    return wanted.tip * 10 >= known.tip * 11 and wanted.max_fee * 10 >= known.max_fee * 11


def _pending(entry: Waiting) -> dict[str, Any]:
    return {
        "hash": entry.transaction_hash,
        "from": entry.sender,
        "nonce": hex(entry.content.nonce),
        "blockNumber": None,
        "to": entry.content.to,
        "value": hex(entry.content.units),
    }
