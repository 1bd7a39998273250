"""One exchange with a signer over a Unix socket or TCP: one request, one reply, each proved by the shared secret.

The signer begins with a number that it never uses again, which both sides put into their proofs: a recorded request is
worth nothing later, and nobody can change a message. With tls:// both sides show a certificate as well, and nobody
can read it either.
"""

from __future__ import annotations

import hmac
import secrets
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

from payments.chains.signer.messages import LONGEST_LINE, Malformed

SECONDS = 10.0
"""How long either side waits for the other."""


class Stream(Protocol):
    """What is read and written by lines."""

    def readline(self, size: int = ..., /) -> bytes: ...

    def write(self, data: bytes, /) -> int: ...

    def flush(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Certificates:
    """Files in PEM: what this side shows, and what the other side's must be issued by."""

    certificate: str
    key: str
    authority: str

    def of_client(self) -> ssl.SSLContext:
        """The signer must have a certificate for the name that it is called by. OSError for files that are none."""
        return self._context(ssl.PROTOCOL_TLS_CLIENT)

    def of_server(self) -> ssl.SSLContext:
        """TLS settings of the server: each client must have a certificate. OSError for files that are none."""
        found = self._context(ssl.PROTOCOL_TLS_SERVER)
        found.verify_mode = ssl.CERT_REQUIRED
        return found

    def _context(self, protocol: int) -> ssl.SSLContext:
        found = ssl.SSLContext(protocol)
        found.minimum_version = ssl.TLSVersion.TLSv1_3
        found.load_cert_chain(self.certificate, self.key)
        found.load_verify_locations(self.authority)
        return found


class NotTrusted(Exception):
    """The other side does not have the secret, or its message was changed on the way."""


def parse_address(url: str) -> tuple[str, int]:
    """The path of a socket and 0, or host and port; ValueError for anything else than unix:///path,
    tcp://host:port and tls://host:port."""
    parts = urlsplit(url)
    if parts.scheme == "unix" and not parts.netloc and len(parts.path) > 1:
        return parts.path, 0
    if parts.scheme in ("tcp", "tls") and parts.hostname and parts.port and not parts.path.strip("/"):
        return parts.hostname, parts.port
    raise ValueError("is no address of a signer; set it like unix:///run/ballast/signer.sock or tls://10.0.0.5:7400")


def is_encrypted(url: str) -> bool:
    return url.startswith("tls://")


def connect(url: str, certificates: Certificates | None = None) -> socket.socket:
    """OSError when nobody listens, or when the certificates of the two do not fit. tls:// takes some."""
    place, port = parse_address(url)
    if port:
        plain = socket.create_connection((place, port), timeout=SECONDS)
        if not is_encrypted(url):
            return plain
        try:
            if certificates is None:
                raise OSError("there are no certificates for it")
            return certificates.of_client().wrap_socket(plain, server_hostname=place)
        except BaseException:
            plain.close()
            raise
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        found.settimeout(SECONDS)
        found.connect(place)
    except OSError:
        found.close()
        raise
    return found


def greet(url: str, certificates: Certificates | None = None) -> None:
    """Connect and take the number that a signer begins with. OSError or Malformed where no signer answers."""
    with connect(url, certificates) as found, found.makefile("rwb") as stream:
        _line(stream)


def query(stream: Stream, secret: str, request: bytes) -> bytes:
    """The reply to a request. NotTrusted, Malformed and OSError leave unknown whether anything was signed."""
    number = _line(stream)
    _send(stream, secret, b"request", number, request)
    return _received(stream, secret, b"reply", number + _proof(secret, b"request", number, request))


def serve(stream: Stream, secret: str, reply_to: Callable[[bytes], bytes]) -> None:
    """Serve one request, the other side of `query`: nothing is done for a client without the secret."""
    number = secrets.token_hex(32).encode()
    stream.write(number + b"\n")
    stream.flush()
    request = _received(stream, secret, b"request", number)
    reply = reply_to(request)
    _send(stream, secret, b"reply", number + _proof(secret, b"request", number, request), reply)


def _send(stream: Stream, secret: str, what: bytes, number: bytes, body: bytes) -> None:
    stream.write(_proof(secret, what, number, body) + b" " + body + b"\n")
    stream.flush()


def _received(stream: Stream, secret: str, what: bytes, number: bytes) -> bytes:
    proof, _, body = _line(stream).partition(b" ")
    if not hmac.compare_digest(proof, _proof(secret, what, number, body)):
        raise NotTrusted("the other side does not have this secret")
    return body


def _line(stream: Stream) -> bytes:
    line = stream.readline(LONGEST_LINE)
    if not line.endswith(b"\n"):
        raise Malformed(
            "the connection ended before the line did" if len(line) < LONGEST_LINE else "the line is too long"
        )
    return line[:-1]


def _proof(secret: str, what: bytes, number: bytes, body: bytes) -> bytes:
    return hmac.digest(secret.encode(), b"\n".join((what, number, body)), "sha256").hex().encode()
