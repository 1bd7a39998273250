"""A provider with bad days before a real node: errors, emptiness, old news, lies. All of it by a seed."""

from __future__ import annotations

import random
from typing import Any

import httpx
import orjson

from payments.chains.evm import abi
from payments.chains.evm.nodes.questions import TRANSFER

SHARES = {"error": 0.20, "empty": 0.20, "stale": 0.10, "wrong chain": 0.05, "cut": 0.05}
STALE_BLOCKS = 3


class FaultyProvider(httpx.BaseTransport):
    """`invents_for` makes it report money that never came to this address, with a receipt to match."""

    def __init__(self, inner: httpx.BaseTransport, seed: int, *, invents_for: tuple[str, str] | None = None) -> None:
        self._inner = inner
        self._random = random.Random(seed)
        self._invents_for = invents_for
        self.is_well = False
        self.faults = 0
        self.lies = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        questions = orjson.loads(request.read())
        fault = "" if self.is_well else self._fault()
        self.faults += bool(fault)
        if fault == "error":
            if self._random.random() < 0.5:
                raise httpx.ReadTimeout("too slow", request=request)
            return httpx.Response(self._random.choice((429, 500, 503)))
        if fault == "stale":
            self._look_back(questions)
        reply = self._inner.handle_request(httpx.Request("POST", request.url, content=orjson.dumps(questions)))
        answers = orjson.loads(reply.read())
        asked = {question["id"]: question for question in questions}
        for answer in answers:
            method = asked[answer["id"]]["method"]
            if fault == "empty" and method == "eth_getLogs":
                answer["result"] = []
            if fault == "wrong chain" and method == "eth_chainId":
                answer["result"] = "0x5"
            if not self.is_well and self._invents_for:
                self._lie(asked[answer["id"]], answer)
        content = orjson.dumps(answers)
        return httpx.Response(200, content=content[: len(content) // 2] if fault == "cut" else content)

    def _fault(self) -> str:
        kinds, shares = [*SHARES, ""], [*SHARES.values(), 1 - sum(SHARES.values())]
        return self._random.choices(kinds, shares)[0]

    def _look_back(self, questions: list[dict[str, Any]]) -> None:
        """Answer as if the newest blocks had not happened yet."""
        for question in questions:
            if question["method"] == "eth_getBlockByNumber" and question["params"][0] == "latest":
                number = self._ask("eth_blockNumber")
                question["params"][0] = hex(max(0, int(number, 16) - STALE_BLOCKS))

    def _lie(self, question: dict[str, Any], answer: dict[str, Any]) -> None:
        if question["method"] == "eth_getLogs" and isinstance(answer.get("result"), list):
            block = self._ask("eth_getBlockByNumber", question["params"][0]["toBlock"], False)
            if block is not None:
                answer["result"].append(self._invention(block["number"], block["hash"]))
                self.lies += 1
        if question["method"] == "eth_getTransactionReceipt" and answer.get("result") is None:
            block = self._ask("eth_getBlockByNumber", "latest", False)
            answer["result"] = {
                "transactionHash": question["params"][0],
                "blockNumber": block["number"],
                "blockHash": block["hash"],
                "status": "0x1",
                "gasUsed": "0x1",
                "effectiveGasPrice": "0x1",
                "logs": [self._invention(block["number"], block["hash"])],
            }

    def _invention(self, number: str, block_hash: str) -> dict[str, Any]:
        contract, recipient = self._invents_for or ("", "")
        return {
            "address": contract.lower(),
            "topics": [TRANSFER, abi.address_topic(contract), abi.address_topic(recipient)],
            "data": "0x" + abi.encode(10**12).hex(),
            "blockNumber": number,
            "blockHash": block_hash,
            "transactionHash": "0x" + "f0" * 32,
            "logIndex": "0x7f",
        }

    def _ask(self, method: str, *params: Any) -> Any:
        question = [{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}]
        request = httpx.Request("POST", "http://node", content=orjson.dumps(question))
        return orjson.loads(self._inner.handle_request(request).read())[0]["result"]
