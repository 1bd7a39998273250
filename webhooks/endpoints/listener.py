"""A receiver for trying webhooks out on one machine: it verifies and prints requests, and replies as configured.

It verifies as a merchant's system should: the raw bytes, a recent timestamp, a comparison in constant time.
"""

from __future__ import annotations

import hmac
import json
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from webhooks.endpoints.signing import signature_of

HOST = "127.0.0.1"
TOLERANCE_SECONDS = 5 * 60
MAX_BODY_BYTES = 1024 * 1024
IDLE_SECONDS = 30
MOST_CHARACTERS = 100
"""Characters shown of a text that anybody may have sent."""

_SECONDS = re.compile(r"[0-9]{1,12}")


def problem_of(headers: Mapping[str, str], body: bytes, *, secret: str, now: float) -> str | None:
    """The reason a request must not be trusted; None when it was signed with the secret a short time ago."""
    message_id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    signatures = headers.get("webhook-signature", "").split()
    if not (message_id and timestamp and signatures):
        return "webhook-id, webhook-timestamp or webhook-signature is missing"
    if not _SECONDS.fullmatch(timestamp):
        return "webhook-timestamp is not a number of seconds"
    age = round(now - int(timestamp))
    if abs(age) > TOLERANCE_SECONDS:
        return f"it was signed {abs(age):,} seconds {'ago' if age > 0 else 'in the future'}"
    expected = signature_of(secret, message_id=message_id, timestamp=int(timestamp), body=body).encode()
    matches = [hmac.compare_digest(expected, signature.encode()) for signature in signatures]
    return None if any(matches) else "no signature is by this secret"


@dataclass
class Receiver:
    """The requests so far, and the replies to give. Used by several threads at once."""

    write: Callable[[str], None]
    secret: str | None = None
    failures_left: int = 0
    delay_seconds: float = 0
    now: Callable[[], float] = time.time

    requests: int = 0
    verified: int = 0
    refused: int = 0
    failed: int = 0
    repeated: int = 0
    _times_seen: dict[str, int] = field(default_factory=dict)
    _newest_version: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def receive(self, headers: Mapping[str, str], body: bytes) -> tuple[HTTPStatus, str]:
        """Prints the request; returns the status to reply with, and why."""
        problem = problem_of(headers, body, secret=self.secret, now=self.now()) if self.secret else None
        with self._lock:
            self.requests += 1
            if self.failures_left:
                self.failures_left -= 1
                self.failed += 1
                status, words = HTTPStatus.INTERNAL_SERVER_ERROR, "told to fail"
            elif problem:
                status, words = HTTPStatus.BAD_REQUEST, problem
            else:
                status, words = HTTPStatus.OK, "thank you"
            self.verified += bool(self.secret) and problem is None
            self.refused += problem is not None
            self.write(self._described(headers, body, problem, status))
        time.sleep(self.delay_seconds)
        return status, words

    @property
    def summary(self) -> str:
        parts = [_counted(self.requests, "request"), _counted(len(self._times_seen), "event")]
        if self.secret:
            parts += [f"{self.verified} verified", f"{self.refused} refused"]
        if self.repeated:
            parts.append(f"{self.repeated} repeated")
        if self.failed:
            parts.append(f"{self.failed} told to fail")
        return ", ".join(parts) + "."

    def _described(self, headers: Mapping[str, str], body: bytes, problem: str | None, status: HTTPStatus) -> str:
        event = _event_in(body)
        verdict = f"REFUSED: {problem}" if problem else "verified" if self.secret else "not checked"
        at = datetime.fromtimestamp(self.now()).astimezone()
        lines = [f"{at:%H:%M:%S}  {_shown(event.get('type', 'no event'))}  {verdict}  -> {status.value}"]
        message_id = headers.get("webhook-id", "")
        if message_id:
            lines.append(f"          {_shown(message_id)}{'' if problem else self._seen_before(message_id)}")
        record = _dictionary(_dictionary(event.get("data")).get("object"))
        if record:
            about = (record.get("id", "no id"), record.get("status", ""))
            words = " ".join(_shown(part) for part in about if part)
            version = event.get("version")
            lines.append(f"          {words}{'' if problem else self._order(record.get('id'), version)}")
        return "\n".join(lines)

    def _seen_before(self, message_id: str) -> str:
        times = self._times_seen[message_id] = self._times_seen.get(message_id, 0) + 1
        if times == 1:
            return ""
        self.repeated += 1
        return f"  (came before: number {times} with this webhook-id)"

    def _order(self, record_id: object, version: object) -> str:
        """A note when a newer version arrived before: the receiver should ignore this one."""
        if not isinstance(record_id, str) or not isinstance(version, int):
            return ""
        newest = self._newest_version.get(record_id, version)
        self._newest_version[record_id] = max(newest, version)
        return f"  version {version}" + (f" (old: version {newest} came before)" if version < newest else "")


class Listener(ThreadingHTTPServer):
    """Listens on this machine only. Port 0 takes any free port."""

    request_queue_size = 128

    def __init__(self, receiver: Receiver, port: int) -> None:
        self.receiver = receiver
        super().__init__((HOST, port), _Handler)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores a sender that did not wait for the reply."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "webhook_listen", ""
    timeout = IDLE_SECONDS
    server: Listener

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit():
            self._answer(HTTPStatus.LENGTH_REQUIRED, "no Content-Length", end=True)
        elif len(length) > 9 or int(length) > MAX_BODY_BYTES:
            self._answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too large", end=True)
        else:
            body = self.rfile.read(int(length))
            # Ballast sends no header that is not ASCII.
            headers = {name.lower(): value for name, value in self.headers.items() if value.isascii()}
            self._answer(*self.server.receiver.receive(headers, body))

    def do_GET(self) -> None:
        self._answer(HTTPStatus.METHOD_NOT_ALLOWED, "webhooks are sent here by POST")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that the base class gives it
        """Logs nothing: the receiver prints each request."""

    def _answer(self, status: HTTPStatus, words: str, *, end: bool = False) -> None:
        body = words.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        if end:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)


def _event_in(body: bytes) -> dict[str, Any]:
    try:
        return _dictionary(json.loads(body))
    except (ValueError, RecursionError):
        return {}


def _dictionary(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _shown(value: object) -> str:
    """Made safe for a terminal: a sender must not be able to move its cursor."""
    text = str(value)[:MOST_CHARACTERS]
    return "".join(character if character.isprintable() else "?" for character in text)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
