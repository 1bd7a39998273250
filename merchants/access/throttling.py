"""Limits the number of requests of a merchant: one budget per merchant and environment, over any 60 seconds.

A sliding log of the accepted requests, so that no span of 60 seconds, wherever it begins, holds more than the budget,
and the seconds until the next one is accepted are known exactly. The log is in Redis, one round trip by the server's
clock, and in the process while Redis does not answer. Without Redis there is one web process.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from threading import Lock
from typing import Any, Final, Protocol

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from config.environments import Environment
from config.periodic.redis_servers import RedisServers
from merchants.models import Merchant, Plan

logger = logging.getLogger(__name__)

WINDOW_SECONDS: Final = 60
PLAN_REQUESTS: Final[dict[str, int]] = {Plan.STARTER: 500, Plan.BUSINESS: 2000, Plan.ENTERPRISE: 2000}

_WINDOW_MICROSECONDS: Final = WINDOW_SECONDS * 1_000_000
_REDIS_TIMEOUT_SECONDS: Final = 0.05
_REDIS_REST_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Budget:
    """The budget left after one request. `reset_seconds`: until one more will be free."""

    limit: int
    remaining: int
    reset_seconds: int
    accepted: bool

    @property
    def headers(self) -> dict[str, str]:
        return {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(self.remaining),
            "RateLimit-Reset": str(self.reset_seconds),
            "RateLimit-Policy": f"{self.limit};w={WINDOW_SECONDS}",
        }


class Log(Protocol):
    """Counts the requests accepted under a name during the last 60 seconds."""

    def take(self, name: str, limit: int) -> Budget:
        """Take the share of one request; it is counted only when it is accepted."""
        ...


def requests_per_minute(merchant: Merchant, environment: str) -> int:
    if environment == Environment.SANDBOX:
        return settings.SANDBOX_REQUESTS_PER_MINUTE
    if merchant.plan == Plan.ENTERPRISE and merchant.requests_per_minute:
        return merchant.requests_per_minute
    return PLAN_REQUESTS[merchant.plan]


def take(merchant: Merchant, environment: str) -> Budget:
    """Counts one request against the merchant's budget, or returns how long to wait."""
    return log().take(f"{environment}:{merchant.pk}", requests_per_minute(merchant, environment))


@lru_cache(maxsize=1)
def log() -> Log:
    """The log of this process: in Redis when there is one, with a fallback."""
    local = LocalLog(processes=settings.WEB_PROCESSES)
    return FallbackLog(RedisLog(settings.REDIS_URL), local) if settings.REDIS_URL else local


class LocalLog:
    """In the process. Each of several web processes gives out its part of the budget, so that the sum holds."""

    def __init__(self, processes: int = 1, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._processes = processes
        self._clock = clock
        self._accepted: dict[str, deque[int]] = {}
        self._swept_at = clock() // 1000
        self._lock = Lock()

    def take(self, name: str, limit: int) -> Budget:
        share = max(1, limit // self._processes)
        now = self._clock() // 1000
        with self._lock:
            self._sweep(now)
            accepted = self._accepted.setdefault(name, deque())
            _drop_until(accepted, now - _WINDOW_MICROSECONDS)
            if len(accepted) >= share:
                # The share may have become smaller meanwhile; then more than one has to leave.
                frees = accepted[-share] + _WINDOW_MICROSECONDS
                return Budget(limit, 0, _seconds(frees - now), accepted=False)
            accepted.append(now)
            frees = accepted[0] + _WINDOW_MICROSECONDS
            return Budget(limit, share - len(accepted), _seconds(frees - now), accepted=True)

    def _sweep(self, now: int) -> None:
        """Once a window, forgets the names that have been quiet for all of it."""
        if now - self._swept_at < _WINDOW_MICROSECONDS:
            return
        self._swept_at = now
        quiet_since = now - _WINDOW_MICROSECONDS
        self._accepted = {name: log for name, log in self._accepted.items() if log and log[-1] > quiet_since}


# The newest accepted request is at the head of the list, the oldest at its tail: every step is O(1) but for dropping
# what has left the window, and each entry is dropped once. Times are whole microseconds of Redis' own clock.
_TAKE: Final = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local limit = tonumber(ARGV[1])
local window = tonumber(ARGV[2])
local oldest = redis.call('LINDEX', KEYS[1], -1)
while oldest and tonumber(oldest) <= now - window do
    redis.call('RPOP', KEYS[1])
    oldest = redis.call('LINDEX', KEYS[1], -1)
end
local count = redis.call('LLEN', KEYS[1])
if count >= limit then
    local frees = tonumber(redis.call('LINDEX', KEYS[1], limit - 1)) + window
    return {0, 0, frees - now}
end
redis.call('LPUSH', KEYS[1], string.format('%.0f', now))
redis.call('PEXPIRE', KEYS[1], window / 1000 + 1000)
local first = now
if oldest then first = tonumber(oldest) end
return {1, limit - count - 1, first + window - now}
"""


class RedisLog:
    """In Redis, so that all processes and machines share one budget."""

    def __init__(self, address: str, window_seconds: float = WINDOW_SECONDS) -> None:
        self._window = round(window_seconds * 1_000_000)
        self._client = RedisServers.parse(address).client(
            socket_timeout=_REDIS_TIMEOUT_SECONDS,
            socket_connect_timeout=_REDIS_TIMEOUT_SECONDS,
            retry=Retry(NoBackoff(), 0),
        )
        self._take: Any = self._client.register_script(_TAKE)

    def take(self, name: str, limit: int) -> Budget:
        """redis.RedisError when Redis does not answer in time."""
        accepted, remaining, frees_in = self._take(keys=[f"ballast:rate:{name}"], args=[limit, self._window])
        return Budget(limit, remaining, _seconds(frees_in), accepted=bool(accepted))


class FallbackLog:
    """The first log while it answers; after a failure the second for a while, so that nobody waits for a timeout.

    Requests keep flowing when Redis is down: in the worst case a merchant gets its budget once from each.
    """

    def __init__(self, first: RedisLog, second: LocalLog, clock: Callable[[], float] = time.monotonic) -> None:
        self._first = first
        self._second = second
        self._clock = clock
        self._rests_until = 0.0

    def take(self, name: str, limit: int) -> Budget:
        if self._clock() >= self._rests_until:
            try:
                return self._first.take(name, limit)
            except redis.RedisError:
                self._rests_until = self._clock() + _REDIS_REST_SECONDS
                logger.warning("rate_limiter_fell_back", exc_info=True)
        return self._second.take(name, limit)


def _drop_until(accepted: deque[int], instant: int) -> None:
    while accepted and accepted[0] <= instant:
        accepted.popleft()


def _seconds(microseconds: int) -> int:
    return max(1, ceil(microseconds / 1_000_000))
