"""The HTTP of the local Horizon: questions, submissions, and `/_local/` for its knobs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

from tests.stellar.network.problems import Problem, bad_request, not_found, unsupported_media_type
from tests.stellar.network.questions import Questions
from tests.stellar.network.submitting import Submitting

KNOBS = "/_local/"
SUBMISSIONS = ("/transactions", "/transactions_async")
_LARGEST_BODY = 1 << 20


class Served(Protocol):
    """What the server asks of the Horizon behind it."""

    questions: Questions
    submitting: Submitting
    sync_seconds: float

    def fault(self, path: str) -> Problem | None:
        """What this question is answered with instead of an answer."""

    def refuses(self) -> bool:
        """Whether the network turns this submission away for now."""

    def drops(self) -> bool:
        """Whether the connection ends after this submission, without an answer."""

    def turn(self, knob: str, arguments: Mapping[str, Any]) -> Any:
        """Turn a knob; LookupError for an unknown one, TypeError or ValueError for wrong arguments."""


class Server(ThreadingHTTPServer):
    """Loopback only: whoever reaches it may do anything on the network."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, served: Callable[[], Served], port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.served = served

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away in the middle is nothing to write about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Without these two, each answer would wait 40 ms for the client's acknowledgement.
    wbufsize = 1 << 16
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self) -> None:
        self._answered(self._get)

    def do_POST(self) -> None:
        body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), _LARGEST_BODY))
        self._answered(lambda served, path, _: self._post(served, path, body))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - named so by the base
        """Say nothing: a worker asks every second."""

    def _answered(self, answer: Callable[[Served, str, str], None]) -> None:
        served, url = self.server.served(), urlsplit(self.path)
        path = url.path.rstrip("/")
        try:
            if not path.startswith(KNOBS) and (fault := served.fault(path)) is not None:
                raise fault
            answer(served, path, url.query)
        except Problem as problem:
            self._write(problem.status, problem.body, "application/problem+json; charset=utf-8")

    def _get(self, served: Served, path: str, query: str) -> None:
        asked = {name: values[-1] for name, values in parse_qs(query, keep_blank_values=True).items()}
        with served.questions.view.network.lock:
            said = served.questions.answer(path, asked)
        self._write(200, said)

    def _post(self, served: Served, path: str, body: bytes) -> None:
        if path.startswith(KNOBS):
            if "json" not in self.headers.get("Content-Type", ""):
                raise unsupported_media_type()  # a page of another site can post a form here, but no JSON
            self._turn(served, path.removeprefix(KNOBS), body)
            return
        if path not in SUBMISSIONS:
            raise not_found()
        if "json" in self.headers.get("Content-Type", ""):
            raise unsupported_media_type()
        form = parse_qs(body.decode("latin-1"))
        if "tx" not in form:
            raise bad_request("tx", "must contain a value")
        refused, xdr = served.refuses(), form["tx"][0]
        if path == SUBMISSIONS[0]:
            status, said = 200, served.submitting.submit(xdr, refused=refused, seconds=served.sync_seconds)
        else:
            status, said = served.submitting.submit_async(xdr, refused=refused)
        if served.drops():
            self.close_connection = True
            return
        self._write(status, said)

    def _turn(self, served: Served, knob: str, body: bytes) -> None:
        try:
            said = served.turn(knob, json.loads(body or b"{}"))
        except LookupError as error:
            raise not_found() from error
        except (TypeError, ValueError) as error:
            raise bad_request(knob, str(error)) from error
        self._write(200, {"result": said})

    def _write(self, status: int, said: Mapping[str, Any], kind: str = "application/hal+json; charset=utf-8") -> None:
        body = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
