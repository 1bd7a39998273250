"""Errors and traces leave a process that is told where to, with nothing of payers or secrets in them."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.platform.test_settings import forked

pytestmark = pytest.mark.slow

FAILING = """
import django
django.setup()
from django.conf import settings
from django.http import HttpRequest
from django.test import Client
from django.urls import path

def fail(request: HttpRequest, token: str):
    secret = "grace@example.com in a variable"
    raise ValueError("grace@example.com in a message")

class urls:
    urlpatterns = [path("probe/<str:token>", fail)]

settings.ROOT_URLCONF = urls
settings.MIDDLEWARE = [each for each in settings.MIDDLEWARE if "opentelemetry" in each or "RequestId" in each]
client = Client(raise_request_exception=False)
address = "/probe/tok_secret?mail=grace@example.com"
reply = client.post(address, {"note": "grace@example.com"}, HTTP_COOKIE="a=sk_live_1", HTTP_HOST="127.0.0.1")
print(reply.status_code)
import httpx
httpx.post(settings.OTEL_EXPORTER_OTLP_ENDPOINT.replace("127.0.0.1", "localhost") + "/a-provider")
import sentry_sdk
from opentelemetry import trace
sentry_sdk.flush()
trace.get_tracer_provider().force_flush()
"""
OFF = """
import sys, django
django.setup()
# redis-py imports the interface of OpenTelemetry where it is installed.
print(sorted({"sentry_sdk", "opentelemetry.instrumentation", "opentelemetry.exporter"} & sys.modules.keys()))
"""


class Receiver(ThreadingHTTPServer):
    """Takes whatever is posted, as Sentry and a collector of OpenTelemetry do."""

    received: dict[str, bytes]
    headers: dict[str, set[str]]


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        names = {name.lower() for name in self.headers}
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        assert isinstance(self.server, Receiver)
        self.server.headers[self.path] = names
        self.server.received[self.path] = self.server.received.get(self.path, b"") + body
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"")

    def log_message(self, *arguments: object) -> None: ...


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver(("127.0.0.1", 0), _Handler) as server:
        server.received, server.headers = {}, {}
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_type_and_place_of_an_error_leave_and_nothing_of_a_payer_or_a_key(receiver: Receiver) -> None:
    here = f"127.0.0.1:{receiver.server_address[1]}"
    ended = forked(
        "-c",
        FAILING,
        BALLAST_MODE="embedded",
        DJANGO_SETTINGS_MODULE="config.settings",
        SENTRY_DSN=f"http://publickey@{here}/7",
        OTEL_EXPORTER_OTLP_ENDPOINT=f"http://{here}",
    )
    assert ended.stdout.split()[-1:] == ["500"], ended.stderr
    assert set(receiver.received) == {"/api/7/envelope/", "/v1/traces", "/a-provider"}
    assert not receiver.headers["/a-provider"] & {"sentry-trace", "baggage", "traceparent"}, (
        "who else is asked learns nothing"
    )
    error, traces = receiver.received["/api/7/envelope/"], receiver.received["/v1/traces"]
    assert b'"ValueError"' in error
    assert b'"fail"' in error
    assert b"req_" in error
    assert b"probe/<str:token>" in traces
    assert b"ballast" in traces
    for kept_here in (b"grace", b"tok_secret", b"sk_live", b"Cookie", b"note"):
        assert kept_here not in error, kept_here
        assert kept_here not in traces, kept_here


def test_nothing_of_either_is_imported_where_no_setting_asks_for_it() -> None:
    ended = forked("-c", OFF, BALLAST_MODE="embedded", DJANGO_SETTINGS_MODULE="config.settings")
    assert ended.stdout.split("\n")[-2] == "[]", ended.stderr
