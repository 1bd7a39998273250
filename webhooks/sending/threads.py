"""Threads that speak to the database for an event loop, each over a connection of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection

Answer = TypeVar("Answer")


class DatabaseLost(Exception):
    """The database did not do it, or its answer was lost. The next question gets another connection."""


class DatabaseThread:
    """Answers one question after the other. Whoever asks does not hold up the loop."""

    def __init__(self, name: str) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)

    async def ask(self, question: Callable[[], Answer]) -> Answer:
        """What the question answers; DatabaseLost when the database did not."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, _answer, question)

    async def close(self) -> None:
        """Once what it was asked has been answered."""
        await asyncio.get_running_loop().run_in_executor(self._executor, _disconnect)
        self._executor.shutdown()


def _answer(question: Callable[[], Answer]) -> Answer:
    try:
        return question()
    except (OperationalError, InterfaceError) as error:
        _disconnect()
        raise DatabaseLost(str(error)) from error


def _disconnect() -> None:
    connection.close()
