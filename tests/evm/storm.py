"""A real node as the public sees it in bad weather: two providers before one pool, fees that jump, and broadcasts that
are promised and forgotten, or passed on and never answered. All of it by a seed.

`python -m tests.evm.storm --url URL --chain-id 1 --seed 7` lets it answer over HTTP, with blocks by the clock, until it
is ended. It says its addresses first; GET tells what has happened.
"""
# ruff: noqa: T201 - it says where it answers

from __future__ import annotations

import argparse
import os
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

import httpx
import orjson

# As conftest does for pytest: the settings load, and no database is needed.
os.environ.setdefault("BALLAST_MODE", "test")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from payments.chains.evm.addresses import keccak256
from payments.chains.evm.nodes.rpc import Rpc
from tests.evm.front import GWEI, Front

PROVIDERS = ("/one", "/two")

DROPPED = {"forgotten": 0.15, "unanswered": 0.15}
"""Of all broadcasts. Both providers treat the same attempt alike, as if the network behind them did."""

CALM_BLOCKS, SPIKE_BLOCKS = (6, 16), (4, 14)
SPIKES = (3, 8, 40, 300)
"""Times the usual base fee. The highest is above what we are allowed to offer on ethereum."""


class Weather:
    """Base fees, block by block: calm, a spike, calm again."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._left, self._level = 0, 0
        self.spikes = 0

    def base_fee(self) -> int:
        if not self._left:
            is_calm = self._level != 1
            self._level = 1 if is_calm else self._chance.choice(SPIKES)
            self._left = self._chance.randint(*(CALM_BLOCKS if is_calm else SPIKE_BLOCKS))
            self.spikes += not is_calm
        self._left -= 1
        return self._level * GWEI

    def surge(self) -> None:
        """Where it is calm, a spike begins with the next block."""
        if self._level == 1:
            self._left = 0


class Storm:
    """Providers by path, before a node whose blocks nobody else asks for."""

    def __init__(self, url: str, chain_id: int, seed: int, *, dropped: Mapping[str, float] = DROPPED) -> None:
        self._dropped = dict(dropped)
        self._node = Rpc(url, chain_id=chain_id)
        self._front = Front(self._node, url)
        self._seed = seed
        self._weather = Weather(random.Random(f"{seed} {chain_id}"))
        self._lock = threading.Lock()
        self._attempts: Counter[tuple[str, str]] = Counter()
        self.told: Counter[str] = Counter()

    def mine(self) -> None:
        """One block, of what pays its base fee."""
        with self._lock:
            base_fee = self._weather.base_fee()
            self._node.call("anvil_setNextBlockBaseFeePerGas", hex(base_fee))
            self._front.hand_over(base_fee)
            self._node.call("evm_mine")
            self._front.forget_used()
            self.told["blocks"] += 1

    def surge(self) -> None:
        """Base fees jump with the next block, unless they are high already."""
        with self._lock:
            self._weather.surge()

    def answer(self, provider: str, body: bytes) -> bytes:
        """A batch of questions; httpx.ReadTimeout when no answer ever comes."""
        with self._lock:
            questions = orjson.loads(body)
            fates = [self._fate(provider, question) for question in questions]
            passed_on = [question for question, fate in zip(questions, fates, strict=True) if fate != "forgotten"]
            request = httpx.Request("POST", f"http://node{provider}", content=orjson.dumps(passed_on))
            answers: list[Any] = orjson.loads(self._front.handle_request(request).read())
            if "unanswered" in fates:
                raise httpx.ReadTimeout("too slow", request=request)
            return orjson.dumps(
                [
                    *answers,
                    *(
                        {"jsonrpc": "2.0", "id": question["id"], "result": _hash_of(question)}
                        for question in questions
                        if question not in passed_on
                    ),
                ]
            )

    def report(self) -> dict[str, int]:
        """What has happened so far."""
        with self._lock:
            return dict(self.told) | {"spikes": self._weather.spikes, "waiting": len(self._front.pool)}

    def _fate(self, provider: str, question: dict[str, Any]) -> str:
        if question["method"] != "eth_sendRawTransaction":
            return ""
        sent = _hash_of(question)
        self._attempts[provider, sent] += 1
        attempt = self._attempts[provider, sent]
        shares = [*self._dropped.values(), 1 - sum(self._dropped.values())]
        [fate] = random.Random(f"{self._seed} {sent} {attempt}").choices([*self._dropped, ""], shares)
        if provider == PROVIDERS[0]:
            self.told["broadcasts"] += 1
            self.told[fate or "taken"] += 1
        return fate


class Answering(Protocol):
    """What can stand between providers and a node."""

    def answer(self, provider: str, body: bytes) -> bytes: ...

    def report(self) -> dict[str, int]: ...


class Server(ThreadingHTTPServer):
    """It over HTTP, under two addresses that count as two providers."""

    daemon_threads = True

    def __init__(self, storm: Answering) -> None:
        self.storm = storm
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def urls(self) -> list[str]:
        hosts = ("127.0.0.1", "localhost")
        return [f"http://{host}:{self.server_port}{provider}" for host, provider in zip(hosts, PROVIDERS, strict=True)]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            self._reply(200, self.server.storm.answer(self.path, body))
        except httpx.HTTPError:
            self._reply(504, b"")  # what a time-out looks like behind a load balancer, without the wait

    def do_GET(self) -> None:
        self._reply(200, orjson.dumps(self.server.storm.report()))

    def log_message(self, *arguments: Any) -> None:
        """Nobody reads what was asked."""

    def _reply(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _hash_of(question: dict[str, Any]) -> str:
    return "0x" + keccak256(bytes.fromhex(question["params"][0][2:])).hex()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True, help="Of the node.")
    parser.add_argument("--chain-id", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--block-seconds", type=float, default=0.25)
    options = parser.parse_args()
    storm = Storm(options.url, options.chain_id, options.seed)
    server = Server(storm)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(*server.urls, flush=True)
    starter = os.getppid()
    while os.getppid() == starter:  # whoever started it may be killed as well
        time.sleep(options.block_seconds)
        storm.mine()
    return 0


if __name__ == "__main__":
    sys.exit(main())
