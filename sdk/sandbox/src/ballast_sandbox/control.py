"""The control port: what tests in any language tell a running sandbox, and where its webhooks are collected.

GET    /                 addresses and keys
POST   /clock/advance    {"days": 1, "hours": 1, "minutes": 1, "seconds": 1} → {"now": …, "secondsAhead": …}
GET    /webhooks         {"data": [delivery, …]} in the order of arrival
DELETE /webhooks         forgets them, and what was asked for the next ones
PUT    /webhooks/answer  {"status": 500, "times": 2}: what the next deliveries get instead of 200

It has no password: programs of this machine may use it, pages in a browser may not.
"""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any, ClassVar

from ballast_sandbox.running import Product

UNITS = frozenset({"days", "hours", "minutes", "seconds"})


class Control(ThreadingHTTPServer):
    """A server on the loopback address alone."""

    daemon_threads = True

    def __init__(self, product: Product, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.product = product
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.about: dict[str, str] = {}
        self.hosts = {f"127.0.0.1:{self.server_port}", f"localhost:{self.server_port}"}
        self.path_of_webhooks = f"/received/{secrets.token_hex(8)}"
        self._deliveries: list[dict[str, Any]] = []
        self._answers: list[int] = []
        self._lock, self._moving = Lock(), Lock()

    def advance(self, body: dict[str, Any]) -> dict[str, Any]:
        if not body or set(body) - UNITS:
            raise ValueError(f"one or more of {', '.join(sorted(UNITS))}")
        with self._moving:
            self.product.advance(math.ceil(timedelta(**body).total_seconds()))
        return self.now()

    def now(self) -> dict[str, Any]:
        ahead = self.product.seconds_ahead
        return {"now": (datetime.now(UTC) + timedelta(seconds=ahead)).isoformat(), "secondsAhead": ahead}

    def receive(self, headers: dict[str, str], body: str) -> int:
        """Keep a delivery; returns the status it gets."""
        with self._lock:
            status = self._answers.pop(0) if self._answers else 200
            self._deliveries.append(
                {"headers": headers, "body": body, "status": status, "receivedAt": self.now()["now"]}
            )
        return status

    def deliveries(self) -> list[dict[str, Any]]:
        with self._lock:
            return list(self._deliveries)

    def forget(self) -> None:
        with self._lock:
            self._deliveries.clear()
            self._answers.clear()

    def answer(self, *, status: int, times: int = 1) -> None:
        with self._lock:
            self._answers = [int(status)] * int(times)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Control

    routes: ClassVar[Mapping[tuple[str, str], Callable[[Control, Any], dict[str, Any] | None]]] = {
        ("GET", "/"): lambda server, _: {**server.about, **server.now()},
        ("POST", "/clock/advance"): lambda server, body: server.advance(body),
        ("GET", "/webhooks"): lambda server, _: {"data": server.deliveries()},
        ("DELETE", "/webhooks"): lambda server, _: server.forget(),
        ("PUT", "/webhooks/answer"): lambda server, body: server.answer(**body),
    }

    def _handle(self) -> None:
        text = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        # A browser names the page that asks, and a page whose name was made to mean this machine has its own as Host.
        if "Origin" in self.headers or self.headers.get("Host") not in self.server.hosts:
            return self._reply(403, {"error": "this port is for programs, not for pages in a browser"})
        if (self.command, self.path) == ("POST", self.server.path_of_webhooks):
            headers = {name.lower(): value for name, value in self.headers.items()}
            return self._reply(self.server.receive(headers, text), {})
        route = self.routes.get((self.command, self.path))
        if route is None:
            return self._reply(404, {"error": f"no {self.command} {self.path}"})
        try:
            return self._reply(200, route(self.server, json.loads(text or "{}")) or {})
        except (TypeError, ValueError) as error:
            return self._reply(400, {"error": str(error)})
        except TimeoutError as error:
            return self._reply(503, {"error": str(error)})

    do_GET = do_POST = do_PUT = do_DELETE = _handle  # noqa: N815 - names of the standard library

    def _reply(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing: the command's output is for what it starts."""
