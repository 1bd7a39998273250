"""HTTP servers on loopback that play merchants' shops: real sockets, in a thread of their own."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

HOST = "127.0.0.1"


@dataclass
class Arrival:
    """One request as it came in."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    at: float = field(default_factory=time.monotonic)

    @property
    def message_id(self) -> str:
        return self.headers["webhook-id"]


@dataclass
class Behaviour:
    """How a path answers. One that hangs keeps every request until the gate opens."""

    status: int = 200
    body: bytes = b"ok"
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    hangs: bool = False
    refuses: bytes = b""
    """A body with this in it is answered 500."""


class Shop:
    """Answers POSTs by path, and remembers everything; `behave` may change its mind while it runs."""

    def __init__(self) -> None:
        self.arrivals: list[Arrival] = []
        self.most_in_flight: dict[str, int] = {}
        self._behaviours: dict[str, Behaviour] = {}
        self._in_flight: dict[str, int] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._closers: list[Callable[[], Awaitable[Any]]] = []
        self.port = 0

    def __enter__(self) -> Self:
        self._thread.start()
        self.port = self._run(self._start())
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5)
        self._loop.close()

    def url(self, path: str = "/hook") -> str:
        return f"http://{HOST}:{self.port}{path}"

    def behave(self, path: str = "/hook", **behaviour: Any) -> str:
        """Answer so from now on; answers the address."""
        self._behaviours[path] = Behaviour(**behaviour)
        return self.url(path)

    def open_gate(self) -> None:
        """Answer all that hang, and whatever comes after them."""
        self._loop.call_soon_threadsafe(self._gate.set)

    def at(self, path: str = "/hook") -> list[Arrival]:
        return [arrival for arrival in self.arrivals if arrival.path == path]

    def serve_raw(self, write: Callable[[asyncio.StreamWriter], Coroutine[Any, Any, None]]) -> str:
        """A server that reads the head of a request and then does whatever `write` does; answers its address."""

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await reader.readuntil(b"\r\n\r\n")
                await write(writer)
            except (ConnectionError, asyncio.IncompleteReadError):
                pass
            finally:
                writer.close()

        async def start() -> int:
            server = await asyncio.start_server(answer, HOST, 0)

            async def stop() -> None:
                server.close()

            self._closers.append(stop)
            return int(server.sockets[0].getsockname()[1])

        return f"http://{HOST}:{self._run(start())}/hook"

    async def _start(self) -> int:
        self._gate = asyncio.Event()
        runner = web.ServerRunner(web.Server(self._answer, access_log=None), shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, HOST, 0, backlog=1024)
        await site.start()
        self._closers.append(runner.cleanup)
        return int(runner.addresses[0][1])

    async def _stop(self) -> None:
        self._gate.set()
        for close in self._closers:
            await close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path
        body = await request.read()
        self.arrivals.append(Arrival(path, {name.lower(): value for name, value in request.headers.items()}, body))
        self._in_flight[path] = self._in_flight.get(path, 0) + 1
        self.most_in_flight[path] = max(self.most_in_flight.get(path, 0), self._in_flight[path])
        try:
            behaviour = self._behaviours.get(path, Behaviour())
            if behaviour.hangs:
                await self._gate.wait()
            if behaviour.seconds:
                await asyncio.sleep(behaviour.seconds)
            status = 500 if behaviour.refuses and behaviour.refuses in body else behaviour.status
            return web.Response(status=status, body=behaviour.body, headers=behaviour.headers)
        finally:
            self._in_flight[path] -= 1

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=60)
