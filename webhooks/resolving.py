"""Names to addresses for the client of webhooks: looked up once for every request, and each answer checked."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult

THREADS = 32
"""Look-ups that may hang at a time before others have to wait for them."""

Answers = list[tuple[Any, ...]]


class SharedResolver(AbstractResolver):
    """Asks the system, in threads of its own. Requests to one name that come together share one look-up.

    So a name whose servers never answer holds one thread, however much is sent there. `check` raises for an address
    that must not be called, and a name with one such answer is refused altogether.
    """

    def __init__(self, *, check: Callable[[str], None]) -> None:
        self._check = check
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="webhooks-names")
        self._lookups: dict[tuple[str, int], asyncio.Future[Answers]] = {}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await asyncio.shield(self._lookup(host, port))
        for *_, target in found:
            self._check(str(target[0]))
        return [
            ResolveResult(
                hostname=host, host=str(target[0]), port=port, family=kind, proto=protocol, flags=socket.AI_NUMERICHOST
            )
            for kind, _, protocol, _, target in found
        ]

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _lookup(self, host: str, port: int) -> asyncio.Future[Answers]:
        key = (host, port)
        if (running := self._lookups.get(key)) is not None:
            return running
        ask = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        lookup = asyncio.get_running_loop().run_in_executor(self._threads, ask)
        self._lookups[key] = lookup
        lookup.add_done_callback(partial(self._forget, key))
        return lookup

    def _forget(self, key: tuple[str, int], lookup: asyncio.Future[Answers]) -> None:
        del self._lookups[key]
        if not lookup.cancelled():
            lookup.exception()  # whoever asked may have gone by now
