"""The WSGI entry point: `python -m config.web --interface wsgi --blocking-threads 256 config.wsgi:application`.

The server keeps a thread for each request that has come. Few threads, each with its connection to the database, work
on them one after another; health pages are for the server's own threads, so that no request holds them up.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from queue import SimpleQueue
from threading import BoundedSemaphore, Thread
from typing import Any, Final

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
gc.disable()  # nothing that is loaded becomes garbage, and looking for it takes a fifth of the time

answer = get_wsgi_application()

from django.conf import settings  # noqa: E402 - the application makes the settings usable
from django.core.handlers.wsgi import WSGIRequest  # noqa: E402 - likewise
from django.db import connection, connections  # noqa: E402 - likewise
from django.urls import get_resolver  # noqa: E402 - likewise

from config.api.views import unavailable  # noqa: E402 - likewise
from config.installation.checks import require_role_at_start  # noqa: E402 - likewise
from config.process.exits import ending_in_a_line  # noqa: E402 - likewise

Environ = dict[str, Any]
Start = Callable[..., Any]
Reply = Future[Iterable[bytes]]

WAITING: Final = 240
"""Requests at most at a time; more are refused at once, so that the server has threads left for health pages."""
TURN_SECONDS: Final = 5.0
"""Time a request waits for its turn before it is refused."""

_room = BoundedSemaphore(WAITING)
_queue: SimpleQueue[tuple[Environ, Start, Reply]] = SimpleQueue()


def application(environ: Environ, start_response: Start) -> Iterable[bytes]:
    if environ["PATH_INFO"].startswith("/health/"):
        response: Iterable[bytes] = answer(environ, start_response)
        return response
    if not _room.acquire(blocking=False):
        return _refuse(environ, start_response)
    reply: Reply = Future()
    is_streamed = False
    try:
        _queue.put((environ, start_response, reply))
        try:
            body = reply.result(TURN_SECONDS)
        except TimeoutError:
            if reply.cancel():
                return _refuse(environ, start_response)
            body = reply.result()
        is_streamed = not isinstance(body, list)
        return body
    finally:
        if not is_streamed:
            _room.release()


def _work() -> None:
    while True:
        _answer(*_queue.get())  # in a call of its own, so that nothing of a request is kept until the next one


def _answer(environ: Environ, start_response: Start, reply: Reply) -> None:
    if not reply.set_running_or_notify_cancel():
        return
    try:
        response = answer(environ, start_response)
        body = _Streamed(response) if response.streaming else list(response)
    except BaseException as error:
        reply.set_exception(error)
        return
    is_whole = not response.streaming
    reply.set_result(body)
    if is_whole:
        response.close()


class _Streamed:
    """A long body, made by the server's thread as the client takes it, by a connection of its own. Its place is given
    back once, also where nobody ever took any of it."""

    def __init__(self, response: Any) -> None:
        self._response, self._parts = response, iter(response)

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            return next(self._parts)  # type: ignore[no-any-return]
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._response is not None:
            response, self._response = self._response, None
            try:
                response.close()
                connections.close_all()
            finally:
                _room.release()

    __del__ = close


def _refuse(environ: Environ, start_response: Start) -> list[bytes]:
    response = unavailable(WSGIRequest(environ))
    start_response(f"{response.status_code} {response.reason_phrase}", list(response.items()))
    return [response.content]


with ending_in_a_line():
    require_role_at_start()
connection.close()  # requests are served by other threads
_pages = get_resolver().url_patterns  # loads the pages, for which the first request would wait
gc.freeze()
gc.enable()
for _ in range(settings.WEB_THREADS):
    Thread(target=_work, daemon=True).start()
