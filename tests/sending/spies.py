"""What the network would see: every address that this process dials, and a name server that answers as told."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine, Iterable
from ipaddress import ip_address
from typing import Any, TypeVar

import pytest
import uvloop

from webhooks.schedule import Reply
from webhooks.sending.outbound import Outbound

Answer = TypeVar("Answer")

_real_getaddrinfo = socket.getaddrinfo
_real_connect = socket.socket.connect


def watch_connections(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Addresses that a socket of this process is connected to from now on; all but this machine's refuse at once."""
    dialled: list[Any] = []

    def connect(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            dialled.append(address)
            if not is_of_this_machine(address[0]):
                raise ConnectionRefusedError(f"nothing goes from a test to {address[0]}")
        _real_connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)
    return dialled


def is_of_this_machine(host: str) -> bool:
    address = ip_address(host.partition("%")[0])
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_unspecified


def answer_names(monkeypatch: pytest.MonkeyPatch, answers: Callable[[str], Iterable[str] | None]) -> list[str]:
    """Put a name server of our own in place. None leaves a host to the system, which knows numbers in all spellings.

    Answers the names that are asked for from now on.
    """
    asked: list[str] = []

    def getaddrinfo(host: Any, port: Any, *arguments: Any, **options: Any) -> list[Any]:
        asked.append(host)
        addresses = answers(host)
        if addresses is None:
            return _real_getaddrinfo(host, port, *arguments, **options)
        return [entry for each in addresses for entry in _real_getaddrinfo(each, port, type=socket.SOCK_STREAM)]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asked


def in_loop(work: Callable[[], Coroutine[Any, Any, Answer]]) -> Answer:
    """On the kind of event loop that the dispatcher has."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work())


def post_all(urls: Iterable[str], **options: Any) -> list[Reply]:
    """POST to every address by one client, all at once."""

    async def run() -> list[Reply]:
        async with Outbound(**options) as client:
            return await asyncio.gather(*(client.post(url, body=b"{}", headers={}) for url in urls))

    return in_loop(run)


def post(url: str, **options: Any) -> Reply:
    (reply,) = post_all([url], **options)
    return reply
