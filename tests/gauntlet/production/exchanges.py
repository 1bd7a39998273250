"""Stand-ins for the exchanges and the central bank: the recorded answers of the real ones, with times of this moment.

Two of them are not to be believed: one has stopped, and one is off by three hundredths.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

import orjson

from tests.rates.test_providers import recording

STALE, OFF = "bitstamp", "gemini"
STALE_BY = timedelta(minutes=10)


def answer(name: str, path: str, now: datetime) -> bytes:
    """What the source of this name says at the path now."""
    said = recording(name, path)
    if name == "ecb":
        yesterday = (now - timedelta(days=1)).date().isoformat()
        return said.replace(b"time='2026-11-20'", f"time='{yesterday}'".encode())
    ticker = orjson.loads(said)
    if name == "coinbase":
        ticker["time"] = now.isoformat()
    if name == STALE:
        ticker["timestamp"] = str(int((now - STALE_BY).timestamp()))
    if name == OFF:
        ticker |= {side: f"{float(ticker[side]) * 1.03:.4f}" for side in ("bid", "ask")}
    return orjson.dumps(ticker)


class Exchanges:
    """All of them behind one address, each under /<its name>, until the block ends."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                _, name, path = self.path.split("/", 2)
                outer.asked[name] += 1
                content = answer(name, path, datetime.now(UTC))
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Keeps the report readable."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port: int = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def wait_until_asked(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not self.asked and time.monotonic() < deadline:
            time.sleep(0.1)
