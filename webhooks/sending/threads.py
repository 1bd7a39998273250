"""Threads that use the database for an event loop, each over its own connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection

Returned = TypeVar("Returned")


class DatabaseLost(Exception):
    """The database did not do it, or its reply was lost. The next call gets another connection."""


class DatabaseThread:
    """Runs one call after the other, without blocking the event loop."""

    def __init__(self, name: str) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)

    async def run(self, call: Callable[[], Returned]) -> Returned:
        """Run the call in the thread and return its result; DatabaseLost when the database failed."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, _run, call)

    async def close(self) -> None:
        """Close the connection, after the calls that are waiting."""
        await asyncio.get_running_loop().run_in_executor(self._executor, _disconnect)
        self._executor.shutdown()


def _run(call: Callable[[], Returned]) -> Returned:
    try:
        return call()
    except (OperationalError, InterfaceError) as error:
        _disconnect()
        raise DatabaseLost(str(error)) from error


def _disconnect() -> None:
    connection.close()
