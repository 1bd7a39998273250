"""Sends requests to merchants' endpoints: only to public addresses, with short timeouts, keeping little of the reply.

A name is looked up here, and the connection goes to one of the addresses that were checked: neither a name that
resolves differently the next time nor an odd spelling can lead into our own network. Redirects and proxies are not
followed.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import TracebackType
from typing import NamedTuple, Self

from aiohappyeyeballs import start_connection

from webhooks.endpoints.addresses import is_forbidden, parse_address
from webhooks.schedule import Reply
from webhooks.sending.connection import Connection, shown
from webhooks.sending.resolving import SharedResolver

DEADLINE_SECONDS = 15.0
"""Time limit of one attempt: from the look-up of the name to the last byte that is read."""

CONNECT_SECONDS = 5.0
"""Time limit of the look-up, the connection and TLS."""

KEEP_ALIVE_SECONDS = 1.0
"""Shorter than that of common servers, so that few requests go into a connection that is just being closed."""

NEXT_ADDRESS_SECONDS = 0.25
"""After so long without an answer, the next address of a host is tried."""

_URL = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<path>[/?][!\"$-~]*)?(?:#[!-~]*)?",
    re.ASCII | re.IGNORECASE,
)
_STANDARD_PORTS = {"https": 443, "http": 80}


class ForbiddenAddress(OSError):
    """The endpoint's host is, or resolves to, an address that must not be called."""


class Origin(NamedTuple):
    """The server that a connection leads to."""

    scheme: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Address:
    """Destination of a request, and its first line."""

    origin: Origin
    start: str


@lru_cache(maxsize=4096)
def parse_url(url: str) -> Address | None:
    """The address of a URL; None unless its host is an ASCII name or an IP address, without a user name."""
    found = _URL.fullmatch(url)
    if found is None:
        return None
    scheme, host, path = found["scheme"].lower(), found["host"].lower(), found["path"] or "/"
    port = int(found["port"]) if found["port"] else _STANDARD_PORTS[scheme]
    if not 0 < port < 2**16:
        return None
    authority = host if port == _STANDARD_PORTS[scheme] else f"{host}:{port}"
    target = path if path.startswith("/") else f"/{path}"
    start = f"POST {target} HTTP/1.1\r\nHost: {authority}\r\nAccept: */*\r\n"
    return Address(Origin(scheme, host.strip("[]"), port), start)


class Outbound:
    """An open client. Connections to well-behaved endpoints are kept for a moment and used again."""

    def __init__(
        self,
        *,
        allow_loopback: bool = False,
        deadline_seconds: float = DEADLINE_SECONDS,
        connect_seconds: float = CONNECT_SECONDS,
    ) -> None:
        self._allow_loopback = allow_loopback
        self._deadline_seconds = deadline_seconds
        self._connect_seconds = connect_seconds
        self._late = f"No reply within {deadline_seconds:g} seconds."
        self._loop = asyncio.get_running_loop()
        self._resolver = SharedResolver(check=self._check)
        self._kept: dict[Origin, list[Connection]] = defaultdict(list)
        self._sweep: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._sweep is not None:
            self._sweep.cancel()
        for connections in self._kept.values():
            for connection in connections:
                connection.close()
        self._resolver.close()

    async def post(self, url: str, *, body: bytes, headers: Mapping[str, str]) -> Reply:
        """Send exactly these bytes. Never raises for faults of the other side: the reply has the error."""
        if (address := parse_url(url)) is None:
            return Reply(error="This is no address that can be called.")
        lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
        request = f"{address.start}{lines}Content-Length: {len(body)}\r\n\r\n".encode("ascii") + body
        ends_at = self._loop.time() + self._deadline_seconds
        if (kept := self._take(address.origin)) is not None:
            reply = await self._exchange(kept, address.origin, request, ends_at)
            if reply is not None:
                return reply
            # It was just being closed when the request was written: no failure of the endpoint.
        try:
            async with asyncio.timeout_at(min(ends_at, self._loop.time() + self._connect_seconds)):
                connection = await self._open(address.origin)
        except TimeoutError:
            return Reply(error=f"No connection within {self._connect_seconds:g} seconds.")
        except ForbiddenAddress as error:
            return Reply(error=str(error))
        except (OSError, RuntimeError, ValueError) as error:
            host, port = address.origin.host, address.origin.port
            return Reply(error=shown(f"Could not connect to {host}:{port}: {error}"))
        reply = await self._exchange(connection, address.origin, request, ends_at)
        return reply or Reply(error="The connection was closed without a reply.")

    async def _exchange(self, connection: Connection, origin: Origin, request: bytes, ends_at: float) -> Reply | None:
        try:
            reply = await connection.send(request, ends_at=ends_at, late=self._late)
        except asyncio.CancelledError:
            connection.close()
            raise
        if connection.is_open:
            self._keep(connection, origin)
        return reply

    async def _open(self, origin: Origin) -> Connection:
        found = await self._resolver.resolve(origin.host, origin.port)
        socket = await start_connection(found, happy_eyeballs_delay=NEXT_ADDRESS_SECONDS)
        try:
            is_secure = origin.scheme == "https"
            _, connection = await self._loop.create_connection(
                Connection,
                sock=socket,
                ssl=self._tls if is_secure else None,
                server_hostname=origin.host.rstrip(".") if is_secure else None,
            )
        except BaseException:
            socket.close()
            raise
        return connection

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        context.set_alpn_protocols(["http/1.1"])
        return context

    def _check(self, text: str) -> None:
        address = parse_address(text)
        if address is None or is_forbidden(address, allow_loopback=self._allow_loopback):
            raise ForbiddenAddress("The host of this endpoint is not a public address.")

    # --- connections that are kept -------------------------------------------------------------------

    def _take(self, origin: Origin) -> Connection | None:
        """The connection that was used last, so that those that are not needed expire."""
        kept = self._kept.get(origin)
        while kept:
            connection = kept.pop()
            if connection.is_open and self._loop.time() - connection.idle_since < KEEP_ALIVE_SECONDS:
                return connection
            connection.close()
        return None

    def _keep(self, connection: Connection, origin: Origin) -> None:
        connection.idle_since = self._loop.time()
        self._kept[origin].append(connection)
        if self._sweep is None:
            self._sweep = self._loop.call_later(KEEP_ALIVE_SECONDS, self._close_old)

    def _close_old(self) -> None:
        oldest = self._loop.time() - KEEP_ALIVE_SECONDS
        for origin, connections in list(self._kept.items()):
            for connection in connections:
                if connection.idle_since <= oldest:
                    connection.close()
            if still := [connection for connection in connections if connection.is_open]:
                self._kept[origin] = still
            else:
                del self._kept[origin]
        self._sweep = self._loop.call_later(KEEP_ALIVE_SECONDS, self._close_old) if self._kept else None
