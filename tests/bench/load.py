"""Load over keep-alive connections from one process: raw sockets, so that little of the machine goes into measuring."""

from __future__ import annotations

import gc
import selectors
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle, islice

CONNECTIONS = 8
LARGEST_READ = 1 << 18


class WrongAnswer(Exception):
    """The server answered something else than was expected; a measurement of that would mean nothing."""


@dataclass(frozen=True)
class Load:
    """What one measurement saw: whole requests, and how long each took in milliseconds."""

    seconds: float
    milliseconds: Sequence[float]
    processor_seconds: float = 0.0
    """Of the server's processes and of the database's for them, together."""

    @property
    def per_second(self) -> float:
        return len(self.milliseconds) / self.seconds

    @property
    def processor_milliseconds(self) -> float:
        """Of one request: what it costs, also while others use the machine."""
        return self.processor_seconds * 1000 / len(self.milliseconds)

    def percentile(self, percent: float) -> float:
        ordered = sorted(self.milliseconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


@dataclass
class _Connection:
    socket: socket.socket
    sent_at: float = 0.0
    head: bytes = b""
    missing: int = -1
    """Bytes of the answer still to come; -1 until its head has been read."""


@dataclass
class LoadGenerator:
    """Eight connections to one server, each of which sends its next request when its last was answered."""

    host: str
    port: int
    processor_seconds: Callable[[], float] = lambda: 0.0
    _connections: list[_Connection] = field(default_factory=list)

    def measure(self, requests: Sequence[bytes], *, status: int, seconds: float) -> Load:
        """Send the requests in turn, over and over, for so long."""
        expected = f"HTTP/1.1 {status} ".encode()
        gc.collect()
        gc.disable()
        used = self.processor_seconds()
        try:
            load = self._measure(requests, expected, seconds)
            return replace(load, processor_seconds=self.processor_seconds() - used)
        finally:
            gc.enable()
            for connection in self._connections:
                connection.socket.close()
            self._connections.clear()

    def _measure(self, requests: Sequence[bytes], expected: bytes, seconds: float) -> Load:
        self._connections = [
            _Connection(socket.create_connection((self.host, self.port), timeout=10)) for _ in range(CONNECTIONS)
        ]
        following = cycle(requests)
        milliseconds: list[float] = []
        with selectors.DefaultSelector() as selector:
            for connection in self._connections:
                connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                selector.register(connection.socket, selectors.EVENT_READ, connection)
            started = time.perf_counter()
            for connection, request in zip(self._connections, islice(following, CONNECTIONS), strict=True):
                _send(connection, request)
            while True:
                events = selector.select(timeout=10)
                if not events:
                    raise WrongAnswer("no answer within ten seconds")
                for key, _ in events:
                    connection = key.data
                    if not _answered(connection, expected):
                        continue
                    now = time.perf_counter()
                    milliseconds.append((now - connection.sent_at) * 1000)
                    if now - started >= seconds:
                        return Load(now - started, milliseconds)
                    _send(connection, next(following))


def _send(connection: _Connection, request: bytes) -> None:
    connection.head, connection.missing = b"", -1
    connection.sent_at = time.perf_counter()
    connection.socket.sendall(request)


def _answered(connection: _Connection, expected: bytes) -> bool:
    part = connection.socket.recv(LARGEST_READ)
    if not part:
        raise WrongAnswer(f"the connection was closed: {connection.head[:200]!r}")
    if connection.missing >= 0:
        connection.missing -= len(part)
        return connection.missing == 0
    connection.head += part
    end = connection.head.find(b"\r\n\r\n")
    if end < 0:
        return False
    if not connection.head.startswith(expected):
        raise WrongAnswer(connection.head[:1000].decode(errors="replace"))
    head = connection.head[:end].lower()
    at = head.find(b"content-length:")
    if at < 0:
        raise WrongAnswer("an answer without Content-Length")
    length = int(head[at + 15 :].split(b"\r\n", 1)[0])
    connection.missing = end + 4 + length - len(connection.head)
    return connection.missing == 0


def request_bytes(method: str, path: str, headers: dict[str, str], body: bytes = b"") -> bytes:
    """One HTTP/1.1 request as it goes over the wire."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *(f"{name}: {value}" for name, value in headers.items())]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body
