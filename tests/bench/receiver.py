"""A receiver of webhooks that does next to nothing, in a process of its own: what is measured is the sender."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized

HOST = "127.0.0.1"
HANGING = b"POST /hanging"
_REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Receiver(asyncio.Protocol):
    """Counts requests and answers them at once, but for those to /hanging."""

    def __init__(self, counter: Synchronized[int]) -> None:
        self._counter = counter
        self._data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, found, body = self._data.partition(b"\r\n\r\n")
        if not found:
            return
        start = head.lower().index(b"content-length:") + len(b"content-length:")
        length = int(head[start:].split(b"\r\n", 1)[0])
        if len(body) >= length:
            self._data = b""
            if not head.startswith(HANGING):
                self._counter.value += 1
                self._transport.write(_REPLY)


@contextmanager
def receiver() -> Iterator[tuple[int, Synchronized[int]]]:
    """Its port, and the number of requests it has answered."""
    context = multiprocessing.get_context("spawn")
    counter = context.Value("q", 0)
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, counter), daemon=True)
    process.start()
    try:
        yield ours.recv(), counter
    finally:
        process.kill()
        process.join()


def _serve(pipe: Connection, counter: Synchronized[int]) -> None:
    async def run() -> None:
        server = await asyncio.get_running_loop().create_server(lambda: Receiver(counter), HOST, 0, backlog=4096)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())
