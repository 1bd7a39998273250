"""Keeps an installation's pulse outside its database: in Redis or, without Redis, in a file under `var`."""

from __future__ import annotations

import uuid
from functools import lru_cache
from pathlib import Path

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from config.embedded.secrets import write_private
from config.periodic.redis_servers import RedisServers

_TIMEOUT_SECONDS = 0.5


class MarkerUnreachable(Exception):
    """The marker cannot be read or written now."""


def read(installation_id: uuid.UUID) -> int | None:
    """The newest pulse in the marker; None when there is none, or it was lost."""
    try:
        if settings.REDIS_SERVERS is not None:
            noted = _redis(settings.REDIS_SERVERS).get(_key(installation_id))
        else:
            noted = _file(installation_id).read_bytes()
        return int(noted) if noted else None
    except FileNotFoundError:
        return None
    except (redis.RedisError, OSError) as error:
        raise MarkerUnreachable from error
    except ValueError:  # cut short by a crash
        return None


def write(installation_id: uuid.UUID, pulse: int) -> None:
    try:
        if settings.REDIS_SERVERS is not None:
            _redis(settings.REDIS_SERVERS).set(_key(installation_id), pulse)
        else:
            write_private(_file(installation_id), f"{pulse}\n")
    except (redis.RedisError, OSError) as error:
        raise MarkerUnreachable from error


def _key(installation_id: uuid.UUID) -> str:
    return f"ballast:pulse:{installation_id}"


def _file(installation_id: uuid.UUID) -> Path:
    return Path(settings.VAR_DIR) / f"pulse-{installation_id}"


@lru_cache(maxsize=2)
def _redis(servers: RedisServers) -> redis.Redis:
    once = Retry(NoBackoff(), 0)
    return servers.client(socket_timeout=_TIMEOUT_SECONDS, socket_connect_timeout=_TIMEOUT_SECONDS, retry=once)
