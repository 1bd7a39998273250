"""Resolves names to the addresses that are connected to: once for every request, and every address is checked."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from webhooks.endpoints.addresses import parse_address

THREADS = 32
"""Look-ups that may hang at a time before others have to wait."""

Answers = list[tuple[Any, ...]]
"""As `getaddrinfo` returns them; the last part of each is what a socket is connected to."""


class SharedResolver:
    """Resolves names by the system, in threads of its own. Requests to the same name at the same time share one
    look-up.

    So a name whose servers never reply occupies one thread, however much is sent there. `check` raises for an address
    that must not be called, and a name with one such address is refused.
    """

    def __init__(self, *, check: Callable[[str], None]) -> None:
        self._check = check
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="webhooks-names")
        self._lookups: dict[tuple[str, int], asyncio.Future[Answers]] = {}

    async def resolve(self, host: str, port: int) -> Answers:
        """Addresses to connect to for this host, a name or an address in any spelling."""
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
        call = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        lookup = asyncio.get_running_loop().run_in_executor(self._threads, call)
        self._lookups[key] = lookup
        lookup.add_done_callback(partial(self._forget, key))
        return lookup

    def _forget(self, key: tuple[str, int], lookup: asyncio.Future[Answers]) -> None:
        del self._lookups[key]
        if not lookup.cancelled():
            lookup.exception()  # the caller may have been cancelled
