"""One HTTP/1.1 connection to a merchant's endpoint: a request goes out, and the beginning of its reply comes back.

There is nothing here that could follow a redirect, keep a cookie, unpack a body or send two requests at once.
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
"""Of everything that comes before a body: interim replies, the status and the headers."""

RECEIVED_BYTES_MAX = 256 * 1024
"""Of everything together: a body may also come a byte at a time, each in a chunk with a head of its own."""

ERROR_CHARACTERS_MAX = 300


class Connection(asyncio.Protocol):
    """Takes one request at a time, and may be kept for the next when its reply was in good order."""

    def __init__(self) -> None:
        self.idle_since = 0.0
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[Reply | None] | None = None
        self._parser = httptools.HttpResponseParser(self)
        # Small faults of home-made servers that cannot make one reply into two.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )

    @property
    def is_open(self) -> bool:
        """Whether another request may be sent here."""
        return self._waiter is None and not self._transport.is_closing()

    def send(self, request: bytes, *, ends_at: float, late: str) -> asyncio.Future[Reply | None]:
        """The reply to come; one that says `late` when nothing has come by then, by the loop's clock. Never an error.

        None when the other side closed the connection before a byte came back: so does a server that was about to
        close one that it had kept for a while, and has not read the request.
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
        """At once. Whoever waits for a reply gets what there is."""
        self._transport.abort()

    # --- from the network ----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self._waiter is None:  # a reply that nobody asked for
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
            self._may_stay = False  # more than was asked for: nobody knows what the next reply would belong to

    # --- to whoever waits ----------------------------------------------------------------------------

    def _end(self, problem: str) -> None:
        """The status is the verdict: a body that breaks off, drips or never ends changes nothing."""
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
        if waiter is not None and not waiter.done():  # whoever asked may have gone by now
            waiter.set_result(reply)


def shown(text: str) -> str:
    """Fit to be stored and shown: the other side may have put anything into it."""
    return "".join(character if character.isprintable() else " " for character in text[:ERROR_CHARACTERS_MAX])
