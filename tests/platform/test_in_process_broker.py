"""The broker in memory: whatever lets a worker take a message ends its wait, so that it need not look all the time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from queue import SimpleQueue
from threading import Thread
from typing import Any

import pytest
from kombu.connection import Connection
from kombu.entity import Queue
from kombu.messaging import Consumer

from config.periodic import in_process_broker
from config.periodic.in_process_broker import SCHEME
from tests.patience import until

QUEUE = Queue("tests-in-process")


class Worker:
    """Takes one message at a time, and does not look again by itself within a test."""

    def __init__(self, broker: Connection, held: ExitStack) -> None:
        self._broker, self._taken = broker, SimpleQueue[Any]()
        channel = held.enter_context(broker.channel())
        channel.basic_qos(prefetch_count=1)
        held.enter_context(Consumer(channel, [QUEUE], callbacks=[lambda _, message: self._taken.put(message)]))

    def takes_after(self, act: Callable[[], object]) -> Any:
        """The message that it takes once `act` is done, for which it waits."""
        thread = Thread(target=self._broker.drain_events, kwargs={"timeout": 3600}, daemon=True)
        thread.start()
        thread.join(timeout=0.05)
        assert thread.is_alive(), "there was nothing to take yet"
        act()
        until(lambda: not self._taken.empty())
        thread.join()
        return self._taken.get()


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    monkeypatch.setattr(in_process_broker, "LONGEST_WAIT_SECONDS", 3600.0)
    with Connection(f"{SCHEME}://") as connection:
        yield connection


@pytest.fixture
def worker(broker: Connection) -> Iterator[Worker]:
    with ExitStack() as held:
        yield Worker(broker, held)


def send(number: int) -> None:
    with Connection(f"{SCHEME}://") as sender:
        sender.Producer().publish(number, routing_key=QUEUE.name, declare=[QUEUE])


@pytest.mark.parametrize("end", ["ack", "reject"])
def test_a_worker_that_waits_wakes_for_a_message_and_for_room(worker: Worker, end: str) -> None:
    first = worker.takes_after(lambda: send(1))
    send(2)
    second = worker.takes_after(getattr(first, end))
    assert (first.payload, second.payload) == (1, 2)
    second.ack()


def test_a_wait_for_nothing_ends_in_time(broker: Connection, worker: Worker) -> None:
    with pytest.raises(TimeoutError):
        broker.drain_events(timeout=0.01)
