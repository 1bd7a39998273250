"""Whether a task waits in the broker already: then another message would do nothing but make the queue longer.

So a queue holds each task once at most, however long its workers are away, and no message needs an end of its own,
which a worker would compare with a clock that may be wrong.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import redis
from django.conf import settings
from kombu.transport import memory

from config.redis_servers import RedisServers


def is_waiting(queue: str, task: str) -> bool:
    """False as well while the broker does not answer: whoever sends finds that out."""
    if (servers := settings.REDIS_SERVERS) is None:
        held = memory.Channel.queues.get(queue)
        return held is not None and any(_task_of(message) == task for message in tuple(held.queue))
    try:
        return any(_task_of(json.loads(message)) == task for message in _client(servers).lrange(queue, 0, -1))
    except (redis.RedisError, ValueError):
        return False


def _task_of(message: Any) -> str | None:
    name = message.get("headers", {}).get("task")
    return None if name is None else str(name)


@cache
def _client(servers: RedisServers) -> redis.Redis:
    return servers.client(socket_timeout=0.5, socket_connect_timeout=0.5)
