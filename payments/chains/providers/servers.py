"""The common part of all servers of networks: name, queries and failures.

A reply is read as if somebody hostile wrote it: whatever it holds, ProviderFailed is the worst that comes of it.
Trying again, and trying another server, is above this.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import httpx

from config.process.response_bodies import ReplyTooLarge, ReplyUnreadable
from payments.chains.errors import ChainUnavailable
from payments.chains.providers.wire import Reply, Wire

CALL_SECONDS = 10.0
"""The longest that one call may take, from its first byte to the last of the reply."""

LONGEST_TEXT = 300
"""What is kept of a server's own words: they come to be in logs, rows, alarms and mails."""

_USUAL_PORTS = {"http": 80, "https": 443}

_REGISTRIES = frozenset({"ac", "co", "com", "edu", "gov", "go", "ne", "net", "or", "org"})
"""What registries of countries sell names under, as in example.co.uk."""


class ProviderFailed(ChainUnavailable):
    """One provider gave no usable answer: none at all, half of one, or one of another chain."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class ReplyTooLong(ProviderFailed):
    """More than anybody should have to read. A smaller question may be answered."""


class ReplyTooSlow(ProviderFailed):
    """It took the question, and its reply was not whole in time. A smaller question may be answered."""


class Behind(ProviderFailed):
    """It has not read far enough to answer, or not far enough back. Nothing is wrong with it."""


class WrongChain(ProviderFailed):
    """It speaks for another chain than the one that is meant."""


class Server:
    """One server of one network. Each query is sent once, within a time limit; nothing is repeated."""

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        call_seconds: float = CALL_SECONDS,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.endpoint = endpoint_of(url)
        host, port, _ = self.endpoint
        # The rest of an address often holds a key, which belongs in no log.
        self.name = f"{host}:{port}" if port else host
        self._url = url.strip()
        self._wire = Wire(seconds=call_seconds, headers=headers, transport=transport)

    def close(self) -> None:
        self._wire.close()

    def _exchange(
        self, method: str, url: str, body: bytes | None = None, *, most_bytes: int, reads_errors: bool = False
    ) -> Reply:
        """The status and the content of the reply, as `Wire.request`. ProviderFailed when there is none."""
        try:
            return self._wire.request(method, url, body, most_bytes=most_bytes, reads_errors=reads_errors)
        except httpx.ReadTimeout as error:
            raise ReplyTooSlow(f"{self.name} cannot be reached: {type(error).__name__}") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ProviderFailed(f"{self.name} cannot be reached: {type(error).__name__}") from error
        except ReplyTooLarge as error:
            raise ReplyTooLong(f"{self.name} sent {error}") from error
        except ReplyUnreadable as error:
            raise ProviderFailed(f"{self.name} sent a reply that is {error}") from error


def endpoint_of(url: str) -> tuple[str, int | None, str]:
    """What makes two addresses one endpoint: host, port and path, whatever the spelling, the scheme or the key.

    The port is None where it is the scheme's own. ValueError for what is no address of a server.
    """
    parts = urlsplit(url.strip())
    if parts.scheme not in _USUAL_PORTS or not parts.hostname:
        raise ValueError("no http or https address")
    port = None if parts.port in (None, _USUAL_PORTS[parts.scheme]) else parts.port
    return parts.hostname.rstrip("."), port, parts.path.rstrip("/")


def owner_of(url: str, separate: Collection[str] = ()) -> str:
    """The owner of a server, as far as its address shows: the domain that somebody has registered, or the public
    address.

    Each port of this machine or of a private network, and each host below a domain that is `separate`, has an owner of
    its own. Where a registry is not known, too many addresses count as one owner's, and never too few.
    """
    host, port, _ = endpoint_of(url)
    labels, itself = host.split("."), f"{host}:{port}"
    if any(host == each or host.endswith(f".{each}") for each in separate):
        return itself
    try:
        return host if ip_address(host).is_global else itself
    except ValueError:
        is_of_a_country = len(labels[-1]) == 2 and labels[-2:-1] and labels[-2] in _REGISTRIES
        return ".".join(labels[-3 if is_of_a_country else -2 :]) if len(labels) > 1 else itself


def by_owner(urls: Collection[str], separate: Collection[str] = ()) -> dict[str, list[str]]:
    """These addresses by whose servers they are, in their order."""
    found: dict[str, list[str]] = {}
    for url in urls:
        found.setdefault(owner_of(url, separate), []).append(url)
    return found


def printable(text: str) -> str:
    """A stranger's words, short enough for a log and without what a database or a terminal does not take."""
    short = text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + "…"
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in short)


def shown(value: Any) -> str:
    """A value of JSON as a person may read it, however large it is: a list or an object by its kind alone."""
    if isinstance(value, str):
        return repr(printable(value[:LONGEST_TEXT]))
    return f"a {type(value).__name__}" if isinstance(value, list | dict) else repr(value)
