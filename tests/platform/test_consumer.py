"""What a worker does when it cannot tell Redis that a message is done."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from kombu.connection import Connection
from kombu.entity import Queue
from kombu.messaging import Consumer
from kombu.transport import redis as transport

from config.celery import app
from config.periodic import consumer
from tests.access.redis_server import BINARY, RedisServer
from tests.patience import until

connect: Any = Connection
make_queue: Any = Queue
consume: Any = Consumer  # kombu has no types

pytestmark = pytest.mark.skipif(BINARY is None, reason="there is no redis-server on this machine")


@pytest.fixture
def server() -> Iterator[RedisServer]:
    running = RedisServer()
    running.start()
    yield running
    running.remove()


@pytest.mark.parametrize(("qos", "takes_more"), [(consumer.QoS, True), (transport.QoS, False)])
@pytest.mark.parametrize("end", ["ack_log_error", "reject_log_error"])
def test_a_message_that_is_done_makes_room_also_when_redis_cannot_be_told(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch, qos: type, takes_more: bool, end: str
) -> None:
    """Kombu's own, the control, takes no other message for ever."""
    monkeypatch.setattr(transport.Channel, "QoS", qos)
    taken: list[Any] = []
    options = {"max_retries": 0, "socket_connect_timeout": 0.5}
    with connect(server.url, transport_options=options) as broker:
        queue = make_queue("chain", routing_key="chain")
        with consume(broker, [queue], on_message=taken.append, prefetch_count=1) as taking:
            broker.Producer().publish("one", routing_key="chain", declare=[queue])
            broker.drain_events(timeout=10)
            [message] = taken
            assert not taking.channel.qos.can_consume()
            server.kill()
            getattr(message, end)(logging.getLogger(__name__), broker.connection_errors)
            assert taking.channel.qos.can_consume() is takes_more
            server.start()


def test_the_workers_of_this_installation_do_so() -> None:
    assert transport.SentinelChannel.QoS is transport.Channel.QoS is consumer.QoS


def test_a_guard_that_fails_looks_again(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(consumer, "LOOK_EVERY_SECONDS", 0.05)
    guard = consumer.Guard(None)
    guard.start(SimpleNamespace(app=app))  # tests without a mark may ask no database: each look raises
    try:
        until(lambda: [record.message for record in caplog.records].count("guard_failed") > 1, seconds=10)
    finally:
        guard.stop(None)
