"""One query to several providers at once, so that a provider that hangs delays no caller that can do without it.

A slow provider is queried last: where the prompt ones decide, no call waits for it, and where they do not, its answer
counts as any other. So speed does not decide which answer is believed. A round has a thread for each query that it
sends. Those that it leaves behind end with the time limit of their call, and no round queries a slow provider
needlessly.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from contextvars import copy_context
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Generic, Protocol, TypeVar

from payments.chains.providers.servers import ProviderFailed

SLOW_SECONDS, TIMES_THE_FIRST = 0.5, 3
"""Slow is who takes longer than so many seconds, and so many times as long as the first that answered the same."""
FIRST_SECONDS = 2.0
"""How long the first answer may take before another provider is queried as well."""


class Queried(Protocol):
    is_slow: bool


AnyQueried = TypeVar("AnyQueried", bound=Queried)
Answer = TypeVar("Answer")


@dataclass(slots=True)
class _Call(Generic[AnyQueried, Answer]):
    provider: AnyQueried
    started_at: float = field(default_factory=time.monotonic)
    is_overdue: bool = False
    answers: list[Answer] = field(default_factory=list)
    error: BaseException | None = None


class Round(Generic[AnyQueried, Answer]):
    """Queries until there are enough answers. `query` raises ProviderFailed where one has no answer."""

    def __init__(self, providers: Iterable[AnyQueried], query: Callable[[AnyQueried], Answer]) -> None:
        self._query = query
        self._waiting = sorted(providers, key=lambda provider: provider.is_slow)
        self._open: list[_Call[AnyQueried, Answer]] = []
        self._ended = SimpleQueue[_Call[AnyQueried, Answer]]()
        self._first_took: float | None = None
        self.answers: list[tuple[AnyQueried, Answer]] = []
        self.failures: list[ProviderFailed] = []

    @property
    def silent(self) -> int:
        """The number that may still answer: those that are not queried yet, and those that have not answered."""
        return len(self._waiting) + len(self._open)

    @property
    def prompt(self) -> int:
        """The number worth waiting for: queried, and not slow; or not queried, and not known to be slow."""
        return len(self._awaited()) + sum(not provider.is_slow for provider in self._waiting)

    def run(self, *, wanted: Callable[[], int], is_over: Callable[[], bool]) -> None:
        """Keep `wanted` of them at it, until it is over or all have answered or failed."""
        while self.silent and not is_over():
            while self._waiting and len(self._awaited()) < max(wanted(), 0 if self._open else 1):
                self._start()
            self._take()

    def _awaited(self) -> list[_Call[AnyQueried, Answer]]:
        return [call for call in self._open if not call.is_overdue]

    def _start(self) -> None:
        call = _Call[AnyQueried, Answer](self._waiting.pop(0))
        self._open.append(call)
        if self.silent == 1 and not self.answers and not self.failures:
            self._make(call)  # no other to turn to: it needs no thread
            return
        threading.Thread(target=copy_context().run, args=(self._make, call), daemon=True).start()

    def _make(self, call: _Call[AnyQueried, Answer]) -> None:
        try:
            call.answers.append(self._query(call.provider))
        except BaseException as error:  # raised where the round is run
            call.error = error
        self._ended.put(call)

    def _take(self) -> None:
        """Take the next answer, or find those that take too long."""
        patience = FIRST_SECONDS
        if self._first_took is not None:
            patience = max(SLOW_SECONDS, TIMES_THE_FIRST * self._first_took)
        awaited = self._awaited()
        oldest = min((call.started_at for call in awaited), default=None)
        try:
            timeout = None if oldest is None else max(0.0, oldest + patience - time.monotonic())
            call = self._ended.get(timeout=timeout)
        except Empty:
            for call in awaited:
                if time.monotonic() - call.started_at >= patience:
                    call.is_overdue = call.provider.is_slow = True
            return
        self._open.remove(call)
        if isinstance(call.error, ProviderFailed):
            self.failures.append(call.error)
            return
        if call.error is not None:
            raise call.error
        call.provider.is_slow = call.is_overdue
        self._first_took = self._first_took or time.monotonic() - call.started_at
        self.answers.append((call.provider, call.answers[0]))


def query_apart(provider: AnyQueried, query: Callable[[AnyQueried], object]) -> None:
    """Find out whether it is prompt again. Nobody waits for it."""

    def look() -> None:
        started_at = time.monotonic()
        try:
            query(provider)
        except ProviderFailed:
            return
        provider.is_slow = time.monotonic() - started_at >= SLOW_SECONDS

    threading.Thread(target=copy_context().run, args=(look,), daemon=True).start()
