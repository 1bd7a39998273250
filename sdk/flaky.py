"""A proxy that spoils 40 % of the requests, for tests of clients: `python -m sdk.flaky URL`.

Each spoiled request meets one of four faults, in turn at random: the connection ends before the server has the request,
or after it has done it; a 503; a reply that is cut in its middle. It prints its address, and at its end how often each
happened. A client that tries again with the same Idempotency-Key loses nothing and doubles nothing.
"""

from __future__ import annotations

import asyncio
import random
import signal
import sys
from collections import Counter
from contextlib import suppress
from urllib.parse import urlsplit

SHARE = 0.4
FAULTS = ("dropped before", "dropped after", "503", "cut")
BODY = (
    b'{"error": {"type": "api_error", "code": "service_unavailable", "message": "Ballast is not available right now. '
    b'Try again shortly.", "requestId": "req_flaky"}}'
)
UNAVAILABLE = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 0\r\n"
    b"Connection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
)


class Proxy:
    def __init__(self, url: str) -> None:
        target = urlsplit(url)
        self.host, self.port = target.hostname or "127.0.0.1", target.port or 80
        self.counts: Counter[str] = Counter()

    async def serve(self) -> asyncio.Server:
        return await asyncio.start_server(self.handle, "127.0.0.1", 0)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request for each connection: the reply asks for another connection."""
        with suppress(OSError, asyncio.IncompleteReadError):
            request = await _message(reader)
            fault = random.choice(FAULTS) if random.random() < SHARE else "passed"  # noqa: S311 - faults of a test
            self.counts[fault] += 1
            if fault == "503":
                writer.write(UNAVAILABLE)
            elif fault != "dropped before":
                reply = await self.forward(request)
                if fault == "passed":
                    writer.write(reply)
                elif fault == "cut":
                    writer.write(reply[: reply.index(b"\r\n\r\n") + 4 + 20])
            await writer.drain()
        writer.close()

    async def forward(self, request: bytes) -> bytes:
        reader, writer = await asyncio.open_connection(self.host, self.port)
        try:
            writer.write(_closing(request))
            await writer.drain()
            return _closing(await _message(reader))
        finally:
            writer.close()


async def _message(reader: asyncio.StreamReader) -> bytes:
    """A request or a reply, whose body has a length or comes in chunks."""
    head = await reader.readuntil(b"\r\n\r\n")
    fields = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(b":") for line in head.split(b"\r\n")[1:])
    }
    if fields.get(b"transfer-encoding", b"").lower() != b"chunked":
        return head + await reader.readexactly(int(fields.get(b"content-length", b"0")))
    body = b""
    while True:
        size = await reader.readuntil(b"\r\n")
        chunk = await reader.readexactly(int(size, 16) + 2)
        body += size + chunk
        if int(size, 16) == 0:
            return head + body


def _closing(message: bytes) -> bytes:
    """The message with `Connection: close`."""
    head, _, body = message.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
    return b"\r\n".join([*lines, b"Connection: close"]) + b"\r\n\r\n" + body


async def main(url: str) -> None:
    proxy = Proxy(url)
    server = await proxy.serve()
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)  # noqa: T201
    await stopped.wait()
    server.close()
    print(", ".join(f"{count} {what}" for what, count in sorted(proxy.counts.items())), flush=True)  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
