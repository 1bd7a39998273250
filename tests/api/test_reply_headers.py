"""Routes against headers: whichever handler makes a reply, of the API or of pages, it has its guards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import DjangoAssertNumQueries, Settings

from config.middleware import PERMISSIONS_POLICY
from merchants.pages import dashboard
from refunds.viewsets import RefundViewSet
from tests.factories import key_headers, make_key, make_member
from tests.test_routes import PAYMENT

pytestmark = pytest.mark.django_db

TRANSPORT = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "strict-origin-when-cross-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
GUARDS = {
    **TRANSPORT,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": PERMISSIONS_POLICY,
    "X-Frame-Options": "DENY",
}
STRICT_TRANSPORT = {"Strict-Transport-Security": "max-age=31536000; includeSubDomains; preload"}
CONTENT = {
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "font-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "object-src 'none'",
}
NEVER_STORED = {"Cache-Control": "no-store"}
BUDGET = {"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit-Policy"}
OF_A_KEY = {*BUDGET, "Ballast-Version", "Ballast-Release"}
EACH = {"Content-Type", "Content-Security-Policy", "X-Request-Id"}
NEVER_CACHED = {"Expires", "Cache-Control"}

BASE = "/sandbox/v1"
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Row:
    method: str
    path: str
    status: int
    own: set[str] = field(default_factory=set)
    """Names of the headers beside the guards and those of every reply."""
    values: dict[str, str] = field(default_factory=dict)
    has_key: bool = False
    body: str = ""
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    lacks: set[str] = field(default_factory=set)


PREFLIGHT = {"Origin": "https://shop.example", "Access-Control-Request-Method": "POST"}
COMPRESSED, TRANSLATED = {"Vary"}, {"Vary", "Content-Language"}
METHODS = {"Allow": "GET, HEAD, POST"}
SHARED_FILE = {"Access-Control-Allow-Origin": "*"}

API = [
    Row("GET", f"{BASE}/payments", 200, OF_A_KEY, METHODS, has_key=True),
    Row("HEAD", f"{BASE}/payments", 200, OF_A_KEY, METHODS, has_key=True),
    Row("POST", f"{BASE}/payments", 201, OF_A_KEY, METHODS, has_key=True, body=json.dumps(PAYMENT)),
    Row("POST", f"{BASE}/payments", 400, OF_A_KEY, METHODS, has_key=True, body="{"),
    Row("GET", f"{BASE}/payments", 401, {"WWW-Authenticate"}, METHODS),
    Row("GET", f"{BASE}/payments/pay_1", 404, OF_A_KEY, {"Allow": "GET, HEAD, PATCH"}, has_key=True),
    Row("PUT", f"{BASE}/payments", 405, OF_A_KEY, METHODS, has_key=True),
    Row("OPTIONS", f"{BASE}/payments", 405, values=METHODS, headers=PREFLIGHT),
    Row("GET", f"{BASE}/refunds", 500, OF_A_KEY, METHODS, has_key=True),
    Row("GET", f"{BASE}/payments/", 404, has_key=True),
    Row("GET", f"{BASE}/nothing", 404),
    Row("GET", "/v1", 404),
    Row("GET", "/v1/", 404),
    Row("GET", "/sandbox", 404),
    Row("POST", "/v1/openapi.json", 405, values={"Allow": "GET, HEAD"}),
    Row("GET", f"{BASE}/payments", 400, has_key=True, headers={"Host": "other.example"}),
    Row("GET", "/payments", 404, has_key=True, lacks={"X-Frame-Options"}),  # the prefix was forgotten
]
PAGES = [
    Row("GET", "/v1/openapi.json", 200, values={"Cache-Control": "public, max-age=300"}),
    Row("GET", "/login", 200, NEVER_CACHED | TRANSLATED),
    Row(
        "POST", "/login", 500, {"Vary", "Content-Language"}, body="email=a%40example.com&password=b", content_type=FORM
    ),
    Row("GET", "/login", 400, TRANSLATED, headers={"Host": "other.example"}, lacks={"X-Frame-Options"}),
    Row("GET", "/", 302, {"Location"}),
    Row("GET", "/dashboard", 302, NEVER_CACHED | TRANSLATED | {"Location"}),
    Row("GET", "/nothing", 404, COMPRESSED),
    Row("GET", "/logout", 405, {"Allow"}),
    Row("GET", "/pay/pay_1", 404, TRANSLATED),
    Row("GET", "/receipts/verify", 200, TRANSLATED),
    Row("GET", "/.well-known/ballast-receipts.json", 200, {"Cache-Control"}, SHARED_FILE),
    Row("GET", "/pay.js", 200, {"Cache-Control", "Vary"}, {"Cross-Origin-Resource-Policy": "cross-origin"}),
    Row("GET", "/docs", 200, {"Cache-Control", "ETag", "Vary"}),
    Row("GET", "/docs/api", 200, {"Cache-Control", "ETag", "Vary"}),
    Row("GET", "/health/live", 200, NEVER_CACHED),
    Row("GET", "/admin/", 302, NEVER_CACHED | {"Location", "Vary"}),
    Row(
        "GET",
        "/static/css/base.css",
        200,
        {"Cache-Control", "Last-Modified", "ETag", "Vary"},
        SHARED_FILE,
        lacks={*GUARDS, "Content-Security-Policy"} - {*TRANSPORT},
    ),
]


def fail(*arguments: Any, **named: Any) -> None:
    raise ZeroDivisionError


@pytest.fixture(params=["http", "https"])
def is_secure(request: pytest.FixtureRequest, settings: Settings) -> bool:
    settings.SECURE_HSTS_SECONDS = 31_536_000
    settings.SECURE_HSTS_INCLUDE_SUBDOMAINS = settings.SECURE_HSTS_PRELOAD = True
    return bool(request.param == "https")


def test_every_reply_has_its_headers_and_no_others(is_secure: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RefundViewSet, "listed", fail)
    monkeypatch.setattr(dashboard, "log_in", fail)
    keys = key_headers(make_key())
    faults = {}
    for row in [*API, *PAGES]:
        reply = Client(raise_request_exception=False).generic(
            row.method,
            row.path,
            row.body,
            content_type=row.content_type,
            secure=is_secure,
            headers={**row.headers, **(keys if row.has_key else {})},
        )
        faults[f"{row.method} {row.path}"] = [*_faults(row, reply, is_secure=is_secure, is_api=row in API)]
    assert {name: found for name, found in faults.items() if found} == {}


def _faults(row: Row, reply: Any, *, is_secure: bool, is_api: bool) -> Iterator[str]:
    if reply.status_code != row.status:
        yield f"has the status {reply.status_code}"
    exact = {**GUARDS, **(NEVER_STORED if is_api else {}), **(STRICT_TRANSPORT if is_secure else {}), **row.values}
    exact = {name: value for name, value in exact.items() if name not in row.lacks}
    for name, value in exact.items():
        if reply.headers.get(name) != value:
            yield f"{name}: {reply.headers.get(name)}"
    expected = {*exact, *row.own, *EACH} - row.lacks
    if unlike := expected ^ ({*reply.headers} - {"Content-Length"}):
        yield f"lacks or has {sorted(unlike)}"
    if "Content-Security-Policy" in expected and {*reply.headers["Content-Security-Policy"].split("; ")} != CONTENT:
        yield "has another policy"
    if is_api and (reply.cookies or not reply.headers["Content-Type"].startswith("application/json")):
        yield "is not a reply of the API"


@pytest.mark.parametrize("path", [f"{BASE}/payments?limit=1", "/v1", "/login", "/docs"])
def test_what_comes_unencrypted_is_sent_to_https(settings: Settings, path: str) -> None:
    settings.SECURE_SSL_REDIRECT = True
    reply = Client().get(path)
    assert (reply.status_code, reply.headers["Location"]) == (301, f"https://testserver{path}")
    assert {name: reply.headers[name] for name in TRANSPORT} == TRANSPORT
    assert Client().get("/health/live").status_code == 200


def test_the_api_neither_reads_nor_sets_cookies(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    browser = Client()
    browser.force_login(make_member().user)
    with django_assert_num_queries(0):
        reply = browser.get(f"{BASE}/payments")
    assert reply.status_code == 401
    assert "Vary" not in reply.headers
    assert not reply.cookies
