"""Listens for requests to sign, and replies to whoever has the secret."""

from __future__ import annotations

import os
import socket
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import structlog

from config.periodic.liveness import note_alive
from payments.chains.errors import SignerUnavailable
from payments.chains.signer import connection
from payments.chains.signer.messages import Malformed, read_request, write_reply
from payments.chains.signer.service import Service

logger = structlog.get_logger(__name__)

AT_ONCE = 16
"""Exchanges at the same time: the executor has a few. A client beyond these is refused, and repeats its request."""

WHOLE = 60.0
"""Seconds of a whole exchange: a client that sends a byte now and then would otherwise hold a thread for ever."""


@contextmanager
def _ended_after(seconds: float, found: socket.socket) -> Iterator[None]:
    """Shut the connection down when the time is up, whatever wraps it by then."""
    same = socket.socket(fileno=os.dup(found.fileno()))

    def end() -> None:
        with suppress(OSError):
            same.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        same.close()


class _Exchange(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        with _ended_after(WHOLE, self.request):
            self._handle()

    def _handle(self) -> None:
        server: Any = self.server
        self.request.settimeout(connection.SECONDS)
        try:
            # Here, and not where connections are accepted: whoever never ends a handshake keeps nobody else waiting.
            context: ssl.SSLContext | None = server.context
            found = context.wrap_socket(self.request, server_side=True) if context else self.request
            with found, found.makefile("rwb") as stream:
                connection.serve(
                    stream, server.secret, lambda line: write_reply(server.service.reply_to(read_request(line)))
                )
        except connection.NotTrusted:
            logger.warning("somebody without the secret reached the signer", address=str(self.client_address))
        except (OSError, Malformed, SignerUnavailable) as error:  # the executor repeats the request
            logger.warning("a request to the signer came to nothing", error=str(error))
        except Exception:
            logger.exception("a request to the signer failed")


class _Bounded(socketserver.ThreadingMixIn, socketserver.BaseServer):
    """A thread for each exchange, and not more than `AT_ONCE`."""

    daemon_threads = True

    def __init__(self, *args: Any) -> None:
        self._free = threading.BoundedSemaphore(AT_ONCE)
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._free.acquire(blocking=False):
            logger.warning("too many requests to the signer at once", address=str(client_address))
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:  # no thread was begun
            self._free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()


class _Unix(_Bounded, socketserver.UnixStreamServer):
    pass


class _Tcp(_Bounded, socketserver.TCPServer):
    allow_reuse_address = True


@contextmanager
def listening(
    address: str, secret: str, service: Service, certificates: connection.Certificates | None = None
) -> Iterator[socketserver.BaseServer]:
    """A server that listens, to be run by `serve_forever`. The socket in the file system is for its owner's group.
    tls:// takes certificates; OSError where they are none."""
    place, port = connection.parse_address(address)
    context = certificates.of_server() if certificates and connection.is_encrypted(address) else None
    if connection.is_encrypted(address) and context is None:
        raise OSError(f"there are no certificates for {address}")
    found: Any
    if port:
        found = _Tcp((place, port), _Exchange)
    else:
        Path(place).unlink(missing_ok=True)
        found = _Unix(place, _Exchange)
        Path(place).chmod(0o660)
    found.secret, found.service, found.context = secret, service, context
    found.service_actions = note_alive  # it is called twice a second while the server serves
    with found:
        try:
            yield found
        finally:
            if not port:
                Path(place).unlink(missing_ok=True)
