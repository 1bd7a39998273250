"""One HTTP/1.1 connection to a merchant's endpoint: it sends a request and reads the beginning of the reply.

It cannot follow redirects, keep cookies, unpack bodies or send two requests at once.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import cast

import httptools
from django.utils import timezone

from webhooks.schedule import Reply, parse_retry_after

REPLY_BYTES_MAX = 16 * 1024
HEAD_BYTES_MAX = 64 * 1024
"""Limit of all that comes before a body: interim replies, the status and the headers."""

RECEIVED_BYTES_MAX = 256 * 1024
"""Limit of everything: a body may also come in chunks of one byte, each with its own chunk header."""

ERROR_CHARACTERS_MAX = 300


class Connection(asyncio.Protocol):
    """Takes one request at a time, and may be kept for the next when the reply was well formed."""

    def __init__(self) -> None:
        self.idle_since = 0.0
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[Reply | None] | None = None
        self._parser = httptools.HttpResponseParser(self)
        # Tolerates small faults of servers that cannot turn one reply into two.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )

    @property
    def is_open(self) -> bool:
        """True if another request may be sent here."""
        return self._waiter is None and not self._transport.is_closing()

    def send(self, request: bytes, *, ends_at: float, late: str) -> asyncio.Future[Reply | None]:
        """Send a request; returns its future reply, or one with the error `late` at `ends_at`. It never raises.

        None when the other side closed the connection before a byte came back, as a server does that was just closing
        an idle connection and has not read the request.
        """
        self._status: int | None = None
        self._retry_after = ""
        self._kept = bytearray()
        self._received = 0
        self._is_complete = self._may_stay = False
        self._waiter = waiter = self._loop.create_future()
        self._timer = self._loop.call_at(ends_at, self._end, late)
        self._transport.write(request)
        return waiter

    def close(self) -> None:
        """Close at once. A waiting reply gets what has arrived."""
        self._transport.abort()

    # --- from the network ----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self._waiter is None:  # a reply without a request
            self.close()
            return
        self._received += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._may_stay = False
            self._end(shown(f"The reply is not HTTP: {error}"))
            return
        if self._is_complete or len(self._kept) >= REPLY_BYTES_MAX or self._received > RECEIVED_BYTES_MAX:
            self._end("The reply is too long.")
        elif self._status is None and self._received > HEAD_BYTES_MAX:
            self._end("The head of the reply is too long.")

    def connection_lost(self, error: Exception | None) -> None:
        if self._waiter is None:
            return
        if self._received:
            self._end("The connection broke off before the reply was complete.")
        else:
            self._answer(None)

    # --- from the parser -----------------------------------------------------------------------------

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._status is None and name.lower() == b"retry-after":
            self._retry_after = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= HTTPStatus.OK or status == HTTPStatus.SWITCHING_PROTOCOLS:
            self._status = self._status or status
        else:
            self._retry_after = ""  # an interim reply; the one that counts is still to come

    def on_body(self, data: bytes) -> None:
        if not self._is_complete and (room := REPLY_BYTES_MAX - len(self._kept)) > 0:
            self._kept += data[:room]

    def on_message_complete(self) -> None:
        if self._status is not None and not self._is_complete:
            self._is_complete = True
            self._may_stay = self._parser.should_keep_alive()

    def on_message_begin(self) -> None:
        if self._is_complete:
            self._may_stay = False  # more than one reply: the next one could belong to any request

    # --- to the waiting request ----------------------------------------------------------------------------

    def _end(self, problem: str) -> None:
        """Complete the reply. Only its status counts: a body that is cut off, slow or endless changes nothing."""
        if self._status is None:
            self._answer(Reply(error=problem))
            return
        retry_after = parse_retry_after(self._retry_after, now=timezone.now()) if self._retry_after else None
        error = "Redirects are not followed." if 300 <= self._status < 400 else ""
        self._answer(Reply(self._status, bytes(self._kept), retry_after, error))

    def _answer(self, reply: Reply | None) -> None:
        waiter, self._waiter = self._waiter, None
        self._timer.cancel()
        if not (self._may_stay and self._transport.get_write_buffer_size() == 0):
            self.close()
        if waiter is not None and not waiter.done():  # the caller may have been cancelled
            waiter.set_result(reply)


def shown(text: str) -> str:
    """Made safe to be stored and shown: the other side may have sent anything."""
    return "".join(character if character.isprintable() else " " for character in text[:ERROR_CHARACTERS_MAX])
