"""A connection that the server has closed meanwhile costs nothing; every other failure is told as it is."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import httpx
import pytest

from payments.chains.providers.wire import Wire

REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntrue"


class Script:
    """A server that does as it is told with each request of each connection, in this order."""

    def __init__(self, *connections: Sequence[str]) -> None:
        self._connections = connections
        self.requests = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def serve(self) -> None:
        with suppress(OSError):  # closed at the end, when nobody connects any more
            for steps in self._connections:
                connection, _ = self._listener.accept()
                with connection:
                    for step in steps:
                        self._read(connection)
                        connection.sendall({"reply": REPLY, "half": REPLY[:-2], "close": b""}[step])

    def _read(self, connection: socket.socket) -> None:
        received = b""
        while not received.endswith(b"ask"):
            received += connection.recv(1_000)
        self.requests += 1

    @contextmanager
    def running(self) -> Iterator[Wire]:
        thread = threading.Thread(target=self.serve, daemon=True)
        thread.start()
        wire = Wire(seconds=30.0, headers={})
        try:
            yield wire
        finally:
            wire.close()
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()


def ask(wire: Wire, script: Script) -> bytes:
    return wire.request("POST", script.url, b"ask", most_bytes=100)[1]


def test_a_request_on_a_kept_connection_that_was_closed_is_sent_again_on_a_fresh_one() -> None:
    script = Script(["reply", "close"], ["reply"])
    with script.running() as wire:
        assert [ask(wire, script), ask(wire, script)] == [b"true", b"true"]
    assert script.requests == 3


@pytest.mark.parametrize(
    ("connections", "asked"),
    [
        pytest.param([["close"], ["reply"]], 1, id="a fresh connection"),
        pytest.param([["reply", "half"], ["reply"]], 2, id="half a reply"),
        pytest.param([["reply", "close"], ["close"], ["reply"]], 3, id="the fresh one as well"),
    ],
)
def test_nothing_else_is_sent_again(connections: list[list[str]], asked: int) -> None:
    script = Script(*connections)
    with script.running() as wire:
        for _ in range(len(connections[0]) - 1):
            ask(wire, script)
        with pytest.raises(httpx.RemoteProtocolError):
            ask(wire, script)
    assert script.requests == asked
