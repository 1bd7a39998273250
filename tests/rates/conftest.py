"""Providers as they are on a bad day: a real HTTP server whose answers a test chooses."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from pytest_django import Settings

from payments.rates.providers import PROVIDERS, Provider
from payments.rates.quoting import forget_rates
from tests.rates.test_providers import recording

NOW = datetime(2026, 11, 21, 10, 30, tzinfo=UTC)
REAL_SOURCES = [*PROVIDERS, "official-pegs"]

Answer = Callable[[BaseHTTPRequestHandler, bytes], None]
"""Answers one request of a provider; the bytes are what it would say on a good day."""


def say(
    content: bytes, *, status: int = 200, age: str | None = None, times: int = 1, encoding: str | None = None
) -> Answer:
    def answer(handler: BaseHTTPRequestHandler, recorded: bytes) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(content or recorded) * times))
        if age is not None:
            handler.send_header("Age", age)
        if encoding is not None:
            handler.send_header("Content-Encoding", encoding)
        handler.end_headers()
        for _ in range(times):
            handler.wfile.write(content or recorded)

    return answer


healthy = say(b"")


@dataclass
class ProviderServer:
    """Answers for every provider under /<its name>; each may be told to behave otherwise."""

    address: str = ""
    answers: dict[str, Answer] = field(default_factory=dict)
    requested: list[str] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)

    def providers(self, *names: str) -> list[Provider]:
        return [
            replace(PROVIDERS[name], address=f"{self.address}/{name}", answer_seconds=self._patience_with(name))
            for name in names or PROVIDERS
        ]

    def _patience_with(self, name: str) -> float:
        """In seconds: little only with who is meant to need too long, since a busy machine is slow for all of them."""
        return 1.5 if self.answers.get(name) in (self.hang, self.trickle) else 60

    def hang(self, handler: BaseHTTPRequestHandler, recorded: bytes) -> None:
        self.stopping.wait(60)

    def trickle(self, handler: BaseHTTPRequestHandler, recorded: bytes) -> None:
        handler.send_response(200)
        handler.end_headers()
        for byte in recorded:
            handler.wfile.write(bytes([byte]))
            if self.stopping.wait(0.2):
                return


@pytest.fixture
def provider_server() -> Iterator[ProviderServer]:
    state = ProviderServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            _, name, path = self.path.split("/", 2)
            state.requested.append(name)
            try:
                state.answers.get(name, healthy)(self, recording(name, path))
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Keeps the test's output quiet."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

    with Server(("127.0.0.1", 0), Handler) as server:
        state.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield state
        state.stopping.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def real_sources(settings: Settings) -> Iterator[None]:
    settings.RATE_SOURCES = REAL_SOURCES
    forget_rates()
    yield
    forget_rates()
