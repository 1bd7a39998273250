"""A provider that answers as it is told to, behind the real client: for what no real node can be brought to do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import httpx
import orjson

from payments.chains.evm.nodes.rpc import Rpc

CHAIN_ID = 137

Reply = Callable[[httpx.Request], httpx.Response]


def block_hash(height: int, fork: str = "0") -> str:
    return "0x" + fork * 56 + f"{height:08x}"


class Refusal(Exception):
    """An error as a node words it."""

    def __init__(self, message: str, code: int = -32000, data: str | None = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({"data": data} if data else {})


class FakeProvider(httpx.BaseTransport):
    """Blocks from 0 to `height`, of which the newest `unfinal` are not final, all on one fork."""

    def __init__(self, name: str, *, height: int = 100, unfinal: int = 10, head_at: float = 0) -> None:
        self.name = name
        self.height, self.unfinal, self.fork = height, unfinal, "0"
        self.first_block_at = int(head_at or time.time()) - 2 * height
        self.chain_id = CHAIN_ID
        self.head_age_seconds = 0
        self.requests = 0
        self.reply: Reply | None = None
        self.answers: dict[str, Callable[..., Any]] = {}
        self.rpc = Rpc(f"https://{name}/key", chain_id=CHAIN_ID, transport=self)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests += 1
        if self.reply is not None:
            return self.reply(request)
        questions = orjson.loads(request.read())
        return httpx.Response(200, content=orjson.dumps([self._answer(question) for question in questions]))

    def fail(self, error: Exception | None = None) -> None:
        def reply(request: httpx.Request) -> httpx.Response:
            raise error or httpx.ConnectError("nobody there", request=request)

        self.reply = reply

    def recover(self) -> None:
        self.reply = None

    def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        frame = {"jsonrpc": "2.0", "id": question["id"]}
        try:
            return frame | {"result": self._result(question["method"], *question["params"])}
        except Refusal as refusal:
            return frame | {"error": refusal.error}

    def _result(self, method: str, *params: Any) -> Any:
        if method in self.answers:
            return self.answers[method](*params)
        if method == "eth_chainId":
            return hex(self.chain_id)
        if method == "eth_getBlockByNumber":
            names = {"latest": self.height, "finalized": self.height - self.unfinal}
            return self._header(names[params[0]] if params[0] in names else int(params[0], 16))
        raise Refusal(f"the method {method} does not exist", -32601)

    def _header(self, height: int) -> dict[str, Any] | None:
        if height > self.height:
            return None
        closed_at = self.first_block_at + 2 * height - self.head_age_seconds
        return {
            "number": hex(height),
            "hash": block_hash(height, self.fork),
            "parentHash": block_hash(height - 1, self.fork) if height else "0x" + "0" * 64,
            "timestamp": hex(closed_at),
            "baseFeePerGas": "0x7",
        }
