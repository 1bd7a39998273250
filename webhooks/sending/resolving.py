"""Names to the addresses that are dialled: looked up once for every request, and every answer checked."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from webhooks.addresses import parse_address

THREADS = 32
"""Look-ups that may hang at a time before others have to wait for them."""

Answers = list[tuple[Any, ...]]
"""As `getaddrinfo` gives them; the last of each is what a socket is connected to."""


class SharedResolver:
    """Asks the system, in threads of its own. Requests to one name that come together share one look-up.

    So a name whose servers never answer holds one thread, however much is sent there. `check` raises for an address
    that must not be called, and a name with one such answer is refused altogether.
    """

    def __init__(self, *, check: Callable[[str], None]) -> None:
        self._check = check
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="webhooks-names")
        self._lookups: dict[tuple[str, int], asyncio.Future[Answers]] = {}

    async def resolve(self, host: str, port: int) -> Answers:
        """Where to connect to for this host, a name or an address in any spelling."""
        if parse_address(host) is not None:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        else:
            found = await asyncio.shield(self._lookup(host, port))
        for *_, target in found:
            self._check(str(target[0]))
        return found

    def close(self) -> None:
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
