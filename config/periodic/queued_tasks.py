"""Tasks that wait in the broker already: another message would only make the queue longer.

So a queue holds each task at most once, however long its workers are away, and no message needs a time of expiry, which
a worker would compare with a clock that may be wrong.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import redis
from django.conf import settings
from kombu.transport import memory

from config.periodic.redis_servers import RedisServers


def is_waiting(queue: str, task: str) -> bool:
    """True if such a message waits. False also while the broker is silent: sending to it then fails."""
    if (servers := settings.REDIS_SERVERS) is None:
        held = memory.Channel.queues.get(queue)
        return held is not None and any(_task_of(message) == task for message in tuple(held.queue))
    try:
        return any(_task_of(json.loads(message)) == task for message in _client(servers).lrange(queue, 0, -1))
    except (redis.RedisError, ValueError):
        return False


def broker_answers() -> bool:
    if (servers := settings.REDIS_SERVERS) is None:
        return True
    try:
        return bool(_client(servers).ping())
    except redis.RedisError:
        return False


def _task_of(message: Any) -> str | None:
    name = message.get("headers", {}).get("task")
    return None if name is None else str(name)


@cache
def _client(servers: RedisServers) -> redis.Redis:
    return servers.client(socket_timeout=0.5, socket_connect_timeout=0.5)
