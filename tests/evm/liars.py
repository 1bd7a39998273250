"""Providers over HTTP before a real node, each with an address of its own: honest, silent, or telling lies to order."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import orjson

from payments.chains.evm import abi
from payments.chains.evm.nodes.questions import TRANSFER

DRIP_SECONDS = 0.2

Lie = Callable[[dict[str, Any], Any], Any]
"""Takes the question and the true result, and returns what is said instead."""


class Provider(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, node_url: str) -> None:
        self.node_url = node_url
        self.is_silent = False
        self.drips = False
        self.is_answering = threading.Event()
        self.is_answering.set()
        self.asked = 0
        self.lie: Lie | None = None
        self._client = httpx.Client(timeout=60)
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def name(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has waited long enough hangs up, and that is no error."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def answer(self, body: bytes) -> bytes:
        self.asked += 1
        asked = {question["id"]: question for question in orjson.loads(body)}
        reply = self._client.post(self.node_url, content=body, headers={"Content-Type": "application/json"})
        answers = reply.json()
        for answer in answers:
            if self.lie is not None and "result" in answer:
                answer["result"] = self.lie(asked[answer["id"]], answer["result"])
        return orjson.dumps(answers)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: Provider

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not self.server.is_answering.is_set():
            self.close_connection = True
            self.server.is_answering.wait()
            return
        content = b"" if self.server.is_silent else self.server.answer(body)
        self.send_response(503 if self.server.is_silent else 200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.server.drips:
            self._drip(content)
        else:
            self.wfile.write(content)

    def _drip(self, content: bytes) -> None:
        """A byte now and then, until the other side has had enough."""
        self.close_connection = True
        with suppress(OSError):
            for place in range(len(content)):
                self.wfile.write(content[place : place + 1])
                self.wfile.flush()
                time.sleep(DRIP_SECONDS)

    def log_message(self, *arguments: Any) -> None:
        """Nobody reads what was asked."""


@contextmanager
def providers_of(node_url: str, count: int) -> Iterator[list[Provider]]:
    """So many providers of one node, all honest at first."""
    found = [Provider(node_url) for _ in range(count)]
    for each in found:
        threading.Thread(target=each.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield found
    finally:
        for each in found:
            each.shutdown()
            each.server_close()


def inventing(*, contract: str, recipient: str, amount: int, block: dict[str, Any]) -> Lie:
    """A transfer that never was, in this block, with a receipt to match."""
    invented = {
        "address": contract.lower(),
        "topics": [TRANSFER, abi.address_topic(contract), abi.address_topic(recipient)],
        "data": "0x" + abi.encode(amount).hex(),
        "blockNumber": block["number"],
        "blockHash": block["hash"],
        "transactionHash": "0x" + "f0" * 32,
        "logIndex": "0x7f",
    }
    receipt = {
        "transactionHash": invented["transactionHash"],
        "blockNumber": block["number"],
        "blockHash": block["hash"],
        "status": "0x1",
        "gasUsed": "0x1",
        "effectiveGasPrice": "0x1",
        "logs": [invented],
    }

    def lie(question: dict[str, Any], truth: Any) -> Any:
        if question["method"] == "eth_getLogs":
            asked = question["params"][0]
            is_inside = int(asked["fromBlock"], 16) <= int(block["number"], 16) <= int(asked["toBlock"], 16)
            return [*truth, invented] if is_inside else truth
        if question["method"] == "eth_getTransactionReceipt" and question["params"][0] == receipt["transactionHash"]:
            return receipt
        return truth

    return lie


def calling_all_failed(question: dict[str, Any], truth: Any) -> Any:
    """Every receipt says status 0, and nothing moved."""
    if question["method"] == "eth_getTransactionReceipt" and truth is not None:
        return truth | {"status": "0x0", "logs": []}
    return truth


def leaving_out_events(question: dict[str, Any], truth: Any) -> Any:
    """Nothing has happened in any block."""
    return [] if question["method"] == "eth_getLogs" else truth
