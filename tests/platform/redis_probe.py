"""A process of Ballast with the REDIS_URL it was started with: uses Redis for all it is for, and says what worked."""
# ruff: noqa: T201 - the test reads what it prints

from __future__ import annotations

import os
from typing import cast

import django

from config.periodic.redis_servers import RedisServers
from tests.patience import SECONDS, wait_for_redis

django.setup()


def main() -> None:
    wait_for_redis()
    from django.core.cache import cache

    from config.celery import app
    from config.periodic.queued_tasks import is_waiting
    from merchants.access.throttling import FallbackLog, log

    cache.set("probe", "kept", 10)
    print("cache", cache.get("probe"), _stored("probe"))
    limiter = log()
    assert isinstance(limiter, FallbackLog)
    print("limiter", limiter._first.take("probe", 5).remaining)
    app.send_task("payments.assess_due")
    print("waiting", is_waiting("chain", "payments.assess_due"), is_waiting("chain", "payments.expire_due"))
    with app.connection_for_read() as broker:
        queue = broker.SimpleQueue("chain")
        message = queue.get(timeout=SECONDS)
        message.ack()
        print("broker", message.headers["task"])
        queue.close()


def _stored(key: str) -> bytes:
    """The bytes that Redis keeps of a value of the cache."""
    from django.core.cache import cache

    server = RedisServers.parse(os.environ["REDIS_URL"]).client()
    return cast("bytes", server.get(cache.make_key(key)))


if __name__ == "__main__":
    main()
