"""Listens for requests to sign, and replies to whoever has the secret."""

from __future__ import annotations

import socketserver
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import structlog

from config.alive import note_alive
from payments.chains.errors import SignerUnavailable
from payments.chains.signer import connection
from payments.chains.signer.messages import Malformed, read_request, write_reply
from payments.chains.signer.service import Service

logger = structlog.get_logger(__name__)


class _Exchange(socketserver.BaseRequestHandler):
    def handle(self) -> None:
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
            logger.warning("somebody without the secret asked the signer", address=str(self.client_address))
        except (OSError, Malformed, SignerUnavailable) as error:  # the executor asks again
            logger.warning("a request to the signer came to nothing", error=str(error))
        except Exception:
            logger.exception("a request to the signer failed")


class _Unix(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


class _Tcp(socketserver.ThreadingTCPServer):
    daemon_threads = True
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
