"""Requests to merchants' endpoints: to public addresses only, briefly, and with a short memory of the reply.

The address is checked where the connection is made, on the very address that is dialled, so that neither a name
that changes its mind nor an odd spelling leads inside. Redirects and proxies are not followed.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import aiohttp
from django.utils import timezone
from yarl import URL

from webhooks.addresses import is_forbidden, parse_address
from webhooks.resolving import SharedResolver
from webhooks.schedule import Reply, parse_retry_after

DEADLINE_SECONDS = 15.0
"""Of one attempt, by the wall clock: from the look-up of the name to the last byte that is read."""

CONNECT_SECONDS = 5.0
"""For the look-up, the connection and TLS."""

KEEP_ALIVE_SECONDS = 1.0
"""Shorter than any common server's, so that no request is written into a connection that is just being closed."""

REPLY_BYTES_MAX = 16 * 1024
ERROR_CHARACTERS_MAX = 300


class ForbiddenAddress(OSError):
    """The endpoint's host is, or resolves to, an address that must not be called."""


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
        connector = aiohttp.TCPConnector(
            limit=0,  # the dispatcher limits what is in flight, for each endpoint
            resolver=SharedResolver(check=self._check),
            use_dns_cache=False,
            socket_factory=self._socket,
            keepalive_timeout=KEEP_ALIVE_SECONDS,
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=None, connect=connect_seconds),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            skip_auto_headers=("Accept-Encoding",),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def post(self, url: str, *, body: bytes, headers: Mapping[str, str]) -> Reply:
        """Send these very bytes. Never raises for what the other side does; the reply says what went wrong."""
        response: aiohttp.ClientResponse | None = None
        kept, problem = bytearray(), ""
        try:
            async with asyncio.timeout(self._deadline_seconds):
                response = await self._session.post(
                    URL(url, encoded=True), data=body, headers=headers, allow_redirects=False
                )
                await _read_beginning(response, kept)
        except aiohttp.ServerTimeoutError:
            problem = f"No connection within {self._connect_seconds:g} seconds."
        except TimeoutError:
            problem = f"No reply within {self._deadline_seconds:g} seconds."
        except (aiohttp.ClientError, OSError, ValueError) as error:
            problem = _shown(error)
        finally:
            if response is not None and not response.content.at_eof():
                response.close()  # there is more, and nobody wants it
        # The status is the verdict: a body that breaks off or drips changes nothing.
        return Reply(error=problem) if response is None else _reply(response, kept)

    def _check(self, text: str) -> None:
        address = parse_address(text)
        if address is None or is_forbidden(address, allow_loopback=self._allow_loopback):
            raise ForbiddenAddress("The host of this endpoint is not a public address.")

    def _socket(self, info: tuple[Any, ...]) -> socket.socket:
        """Called for every connection with the address that is dialled: also for one that never was a name."""
        family, kind, protocol, _, target = info
        self._check(str(target[0]))
        return socket.socket(family, kind, protocol)


async def _read_beginning(response: aiohttp.ClientResponse, kept: bytearray) -> None:
    while len(kept) < REPLY_BYTES_MAX and (chunk := await response.content.read(REPLY_BYTES_MAX - len(kept))):
        kept += chunk


def _reply(response: aiohttp.ClientResponse, kept: bytearray) -> Reply:
    return Reply(
        status_code=response.status,
        body=bytes(kept),
        retry_after=parse_retry_after(response.headers.get("Retry-After"), now=timezone.now()),
        error="Redirects are not followed." if 300 <= response.status < 400 else "",
    )


def _shown(error: Exception) -> str:
    """What went wrong, fit to be stored and shown: the other side may have put anything into it."""
    cause = getattr(error, "os_error", None)
    if isinstance(cause, ForbiddenAddress):
        return str(cause)
    text = f"{type(error).__name__}: {error}"[: 2 * ERROR_CHARACTERS_MAX]
    return "".join(character if character.isprintable() else " " for character in text)[:ERROR_CHARACTERS_MAX]
