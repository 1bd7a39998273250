"""One HTTP request to a provider, within a limit of time for all of it: names, connecting, and every byte of the reply.

The time-outs of httpx are for each read, so that a byte now and then would hold a call for ever.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, NamedTuple

import httpcore
import httpx

from config.process.response_bodies import ACCEPT_ENCODING, Body

CONNECT_SECONDS = 3.0


class Reply(NamedTuple):
    status: int
    content: bytes
    headers: Mapping[str, str]
    """Names in any case."""


@cache
def _trusted() -> ssl.SSLContext:
    """The authorities that httpx trusts, read once: one reading takes longer than many a request."""
    return httpx.create_ssl_context()


class Wire:
    """A client that keeps its connections. Takes no cookies and follows no redirect."""

    def __init__(
        self, *, seconds: float, headers: Mapping[str, str], transport: httpx.BaseTransport | None = None
    ) -> None:
        self._seconds = seconds
        self._limit = _Limit()
        self._client = httpx.Client(
            timeout=httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS)),
            verify=_trusted(),
            transport=transport,
            trust_env=transport is None,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            headers={"Accept-Encoding": ACCEPT_ENCODING, **headers},
        )
        for each in (self._client._transport, *self._client._mounts.values()):
            if isinstance(each, httpx.HTTPTransport):
                each._pool._network_backend = _TimedBackend(each._pool._network_backend, self._limit)

    def request(
        self, method: str, url: str, body: bytes | None = None, *, most_bytes: int, reads_errors: bool = False
    ) -> Reply:
        """The status and the content of the reply; content of another status than 200 only with `reads_errors`.

        httpx.HTTPError when there is none in time; ReplyTooLarge and ReplyUnreadable. Where a connection that was kept
        turns out closed before it has brought anything, the request is sent once more: a repeated query changes
        nothing.
        """
        with self._limit.of(self._seconds):
            while True:  # ends with a fresh connection: each one that is found closed is gone
                course = _Course()
                try:
                    return self._exchange(method, url, body, course, most_bytes=most_bytes, reads_errors=reads_errors)
                except (httpx.RemoteProtocolError, httpx.ReadError):
                    if not course.found_it_closed:
                        raise

    def _exchange(
        self, method: str, url: str, body: bytes | None, course: _Course, *, most_bytes: int, reads_errors: bool
    ) -> Reply:
        with self._client.stream(method, url, content=body, extensions={"trace": course.note}) as reply:
            if reply.status_code != httpx.codes.OK and not reads_errors:
                return Reply(reply.status_code, b"", reply.headers)
            received = Body(reply.headers.get("Content-Encoding", ""), most_bytes=most_bytes)
            assert isinstance(reply.stream, httpx.SyncByteStream)  # noqa: S101 - narrows the type: not async
            for part in reply.stream:
                received.add(part)
            return Reply(reply.status_code, bytes(received.content), reply.headers)

    def close(self) -> None:
        self._client.close()


class _Course:
    """The progress of one request, as httpcore reports it; empty where its connections are not used."""

    def __init__(self) -> None:
        self._events = set[str]()

    def note(self, event: str, _info: Mapping[str, Any]) -> None:
        self._events.add(event)

    @property
    def found_it_closed(self) -> bool:
        """Whether it went out on a connection that was there before, and no head of a reply came back."""
        was_sent = "http11.send_request_headers.started" in self._events
        return was_sent and not self._events & {
            "connection.connect_tcp.started",
            "http11.receive_response_headers.complete",
        }


class _Limit(threading.local):
    """When the call of this thread must be over."""

    ends_at: float | None = None

    @contextmanager
    def of(self, seconds: float) -> Iterator[None]:
        self.ends_at = time.monotonic() + seconds
        try:
            yield
        finally:
            self.ends_at = None

    def left(self, timeout: float | None, late: type[Exception]) -> float | None:
        """How long a step that may take `timeout` may take now; raises `late` when the time is over."""
        if self.ends_at is None:
            return timeout
        left = self.ends_at - time.monotonic()
        if left <= 0:
            raise late("the time for the whole call is over")
        return left if timeout is None else min(timeout, left)


class _TimedBackend(httpcore.NetworkBackend):
    def __init__(self, inner: httpcore.NetworkBackend, limit: _Limit) -> None:
        self._inner, self._limit = inner, limit

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        left = self._limit.left(timeout, httpcore.ConnectTimeout)
        connect: Callable[..., httpcore.NetworkStream] = self._inner.connect_tcp
        return _TimedStream(
            connect(host, port, timeout=left, local_address=local_address, socket_options=socket_options), self._limit
        )

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


class _TimedStream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream, limit: _Limit) -> None:
        self._inner, self._limit = inner, limit

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, timeout=self._limit.left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, timeout=self._limit.left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left = self._limit.left(timeout, httpcore.ConnectTimeout)
        return _TimedStream(
            self._inner.start_tls(ssl_context, server_hostname=server_hostname, timeout=left), self._limit
        )

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
