"""The servers of REDIS_URL: a Redis server, or the sentinels that know the leader, with or without TLS."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl, quote, unquote

import redis
from redis.backoff import NoBackoff
from redis.connection import ConnectionPool
from redis.retry import Retry
from redis.sentinel import Sentinel

SINGLE_FORM = "set it like redis://host:6379/0"
SENTINEL_FORM = "set it like sentinel://host1,host2,host3/0?service_name=ballast"
SCHEMES = ("redis", "rediss", "unix", "sentinel", "sentinels")
PORT, SENTINEL_PORT = 6379, 26379

_CERTIFICATES = {"required": ssl.CERT_REQUIRED, "optional": ssl.CERT_OPTIONAL, "none": ssl.CERT_NONE}
_TLS_FILES = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
_SENTINEL_OPTIONS = ("service_name", "sentinel_username", "sentinel_password")


class RedisAddressInvalid(ValueError):
    """The message completes the sentence that begins with `REDIS_URL`."""


@dataclass(frozen=True, eq=False)
class RedisServers:
    """A parsed address. `hosts` are the sentinels' when there is a `service_name`, else the one server's."""

    hosts: tuple[tuple[str, int], ...]
    socket: str
    database: int
    username: str | None
    password: str | None
    tls: Mapping[str, Any] | None
    service_name: str
    sentinel_login: Mapping[str, str]

    @classmethod
    def parse(cls, address: str) -> RedisServers:
        """RedisAddressInvalid, without any part of the address: it may hold a password."""
        scheme, _, rest = address.partition("://")
        if scheme not in SCHEMES:
            raise RedisAddressInvalid(f"is not a Redis address; {SINGLE_FORM}")
        rest, _, query = rest.partition("?")
        options = dict(parse_qsl(query))
        login, _, place = rest.rpartition("@")
        username, _, password = login.partition(":")
        place, _, path = place.partition("/")
        database = options.pop("db", "") or ("" if scheme == "unix" else path) or "0"
        if not database.isdecimal():
            raise RedisAddressInvalid(f"has a database that is not a number; {SINGLE_FORM}")
        has_sentinels = scheme.startswith("sentinel")
        sentinel_options = {name: options.pop(name) for name in _SENTINEL_OPTIONS if has_sentinels and name in options}
        if has_sentinels and "service_name" not in sentinel_options:
            raise RedisAddressInvalid(f"does not name the service of its sentinels; {SENTINEL_FORM}")
        is_secure = scheme in {"rediss", "sentinels"}
        servers = cls(
            hosts=() if scheme == "unix" else _hosts(place, SENTINEL_PORT if has_sentinels else PORT),
            socket=f"/{unquote(path)}" if scheme == "unix" else "",
            database=int(database),
            username=unquote(username) or None,
            password=unquote(password) or None,
            tls=_tls(options) if is_secure else None,
            service_name=sentinel_options.pop("service_name", ""),
            sentinel_login={name.removeprefix("sentinel_"): value for name, value in sentinel_options.items()},
        )
        if options:
            raise RedisAddressInvalid(f"has options that are not known here: {', '.join(sorted(options))}")
        if len(servers.hosts) > 1 and not has_sentinels:
            raise RedisAddressInvalid(f"names several servers; with Sentinel {SENTINEL_FORM}")
        return servers

    def client(self, **options: Any) -> redis.Redis:
        """A client of the server, or of the one that leads now. `options` are those of redis.Redis."""
        return redis.Redis(connection_pool=self.pool(**options))

    def pool(self, **options: Any) -> ConnectionPool:
        login: dict[str, Any] = {"username": self.username, "password": self.password, "db": self.database}
        if self.socket:
            plain: dict[str, Any] = {"connection_class": redis.UnixDomainSocketConnection, "path": self.socket}
            return ConnectionPool(**plain, **login, **options)
        if self.service_name:
            sentinels: Any = Sentinel(
                self.hosts,
                sentinel_kwargs=self._sentinel_options,
                **login,
                **self._secure,
                **options,
            )
            pool: ConnectionPool = sentinels.master_for(self.service_name).connection_pool
            return pool
        [(host, port)] = self.hosts
        secure: dict[str, Any] = {"connection_class": redis.SSLConnection, **self.tls} if self.tls is not None else {}
        return ConnectionPool(host=host, port=port, **login, **secure, **options)

    # --- for Celery ---------------------------------------------------------------------------

    @cached_property
    def broker_url(self) -> str:
        login = f"{quote(self.username or '', safe='')}:{quote(self.password or '', safe='')}@" if self.password else ""
        if self.socket:
            return f"redis+socket://{login}{self.socket}?virtual_host={self.database}"
        scheme = "sentinel" if self.service_name else "redis" if self.tls is None else "rediss"
        return ";".join(f"{scheme}://{login}{_bracketed(host)}:{port}/{self.database}" for host, port in self.hosts)

    @property
    def broker_options(self) -> dict[str, Any]:
        """Options of Celery's transport, without the time-outs."""
        if not self.service_name:
            return {}
        return {"master_name": self.service_name, "sentinel_kwargs": self._sentinel_options}

    @property
    def broker_tls(self) -> dict[str, Any] | None:
        return None if self.tls is None else dict(self.tls)

    @property
    def _sentinel_options(self) -> dict[str, Any]:
        """Options for queries to a sentinel: a silent one is skipped at once, because the next one knows the same."""
        patience = {"socket_timeout": 0.5, "socket_connect_timeout": 0.5, "retry": Retry(NoBackoff(), 0)}
        return {**patience, **self.sentinel_login, **self._secure}

    @property
    def _secure(self) -> dict[str, Any]:
        return {} if self.tls is None else {"ssl": True, **self.tls}


class CachePool:
    """The pool that Django's cache connects through; the cache only passes an address."""

    @staticmethod
    def from_url(address: str, **options: Any) -> ConnectionPool:
        return RedisServers.parse(address).pool(**options)


def _hosts(place: str, default_port: int) -> tuple[tuple[str, int], ...]:
    hosts = []
    for each in place.split(","):
        bracket = each.rfind("]")
        host, _, port = each.rpartition(":") if ":" in each[bracket + 1 :] else (each, "", str(default_port))
        if not host or not port.isdecimal() or not 0 < int(port) < 65_536:
            raise RedisAddressInvalid(f"has a host or a port that cannot be; {SINGLE_FORM}")
        hosts.append((unquote(host.strip("[]")), int(port)))
    return tuple(hosts)


def _tls(options: dict[str, str]) -> dict[str, Any]:
    """Options of TLS: certificates are required and names compared unless the address overrides it. Takes them from
    `options`."""
    requirement = options.pop("ssl_cert_reqs", "required").lower().removeprefix("cert_")
    if requirement not in _CERTIFICATES:
        raise RedisAddressInvalid("has an ssl_cert_reqs that is not one of required, optional, none")
    compares_names = options.pop("ssl_check_hostname", "true" if requirement == "required" else "false").lower()
    if compares_names not in {"true", "false"}:
        raise RedisAddressInvalid("has an ssl_check_hostname that is neither true nor false")
    files = {name: options.pop(name) for name in _TLS_FILES if name in options}
    return {"ssl_cert_reqs": _CERTIFICATES[requirement], "ssl_check_hostname": compares_names == "true", **files}


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
