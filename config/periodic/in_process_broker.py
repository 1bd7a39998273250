"""The broker of an embedded run without Redis: messages between the threads of one process, which wake the worker.

Kombu's own transport in memory looks for messages ten times a second, which is half of what a process at rest costs.
"""

from __future__ import annotations

import threading
import time
from queue import Empty
from typing import Any, Final

from kombu.transport import TRANSPORT_ALIASES, memory

SCHEME: Final = "in-process"
LONGEST_WAIT_SECONDS: Final = 1.0
"""The longest a worker waits before it looks again. Whatever changes what it may take wakes it at once."""

_changed = threading.Event()
"""Set when there is a message, or room for one more. The one worker of the process waits for it."""


class Channel(memory.Channel):
    """As kombu's, and wakes the worker."""

    def _put(self, queue: str, message: Any, **options: Any) -> None:
        super()._put(queue, message, **options)
        _changed.set()

    def basic_ack(self, delivery_tag: str, multiple: bool = False) -> None:
        super().basic_ack(delivery_tag, multiple)
        _changed.set()

    def basic_reject(self, delivery_tag: str, requeue: bool = False) -> None:
        super().basic_reject(delivery_tag, requeue)
        _changed.set()

    def basic_qos(self, prefetch_size: int = 0, prefetch_count: int = 0, apply_global: bool = False) -> None:
        super().basic_qos(prefetch_size, prefetch_count, apply_global)
        _changed.set()


class Transport(memory.Transport):
    """As kombu's, and waits for a message instead of looking for one again and again."""

    Channel = Channel

    def drain_events(self, connection: Any, timeout: float | None = None, **options: Any) -> None:
        """Deliver one message; TimeoutError when none comes in time."""
        ends = None if timeout is None else time.monotonic() + timeout
        while True:
            _changed.clear()  # before looking: what comes after the look ends the wait
            try:
                self.cycle.get(self._deliver, timeout=timeout)  # type: ignore[union-attr]  # it is set at the start
                return
            except Empty:
                left = LONGEST_WAIT_SECONDS if ends is None else ends - time.monotonic()
                if left <= 0:
                    raise TimeoutError from None
                _changed.wait(min(left, LONGEST_WAIT_SECONDS))


def install() -> None:
    """Make kombu find this broker by its scheme."""
    TRANSPORT_ALIASES[SCHEME] = f"{__name__}:Transport"
