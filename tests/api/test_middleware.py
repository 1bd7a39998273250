"""Every reply is named, guarded by headers, and made from the body that was sent."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
import structlog
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory

from config.api.parsers import MAX_BODY_BYTES
from config.middleware import RequestIdMiddleware
from tests.api.errors import check_error

pytestmark = pytest.mark.urls("tests.api.urls")


@pytest.fixture
def client() -> Client:
    return Client(raise_request_exception=False)


def test_a_request_is_given_an_id(client: Client) -> None:
    first = client.get("/v1/orders").headers["X-Request-Id"]
    second = client.get("/v1/orders").headers["X-Request-Id"]
    assert first.startswith("req_")
    assert len(first) == 30
    assert first != second


@pytest.mark.parametrize("given", ["abcdefgh", "2f1c7f0e-8f5b-4c55-9d0b-0f2f6f0c1f3a", "A_b-" * 16])
def test_a_callers_own_id_is_kept(client: Client, given: str) -> None:
    assert client.get("/v1/orders", headers={"X-Request-Id": given}).headers["X-Request-Id"] == given


@pytest.mark.parametrize(
    "given", ["", "short", "x" * 65, "abcdefgh\n", "abc def gh", "<script>alert</script>", "ａｂｃｄｅｆｇｈ"]
)
def test_an_id_that_is_not_one_is_replaced(client: Client, given: str) -> None:
    replaced = client.get("/v1/nothing", headers={"X-Request-Id": given})
    assert replaced.headers["X-Request-Id"].startswith("req_")
    check_error(replaced)


def test_the_logs_know_the_id_while_the_request_lasts() -> None:
    seen: list[Any] = []

    def view(request: HttpRequest) -> HttpResponse:
        seen.append(structlog.contextvars.get_contextvars().get("request_id"))
        return HttpResponse()

    response = RequestIdMiddleware(view)(RequestFactory().get("/", headers={"X-Request-Id": "abcdefgh"}))
    assert seen == ["abcdefgh"]
    assert response.headers["X-Request-Id"] == "abcdefgh"
    assert "request_id" not in structlog.contextvars.get_contextvars()


@pytest.mark.parametrize("path", ["/v1/orders", "/v1/nothing", "/v1/fail/bug", "/nothing", "/outside"])
def test_every_reply_carries_the_security_headers(client: Client, path: str) -> None:
    headers = client.get(path).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["Permissions-Policy"].startswith("camera=()")
    assert headers["Referrer-Policy"]
    assert headers["X-Frame-Options"] == "DENY"
    assert "unsafe-inline" not in headers["Content-Security-Policy"]


def test_only_replies_of_the_api_are_never_stored(client: Client) -> None:
    assert client.get("/v1/orders").headers["Cache-Control"] == "no-store"
    assert "Cache-Control" not in client.get("/nothing").headers


def send_in_chunks(client: Client, body: bytes, *, ends: bool = True) -> Any:
    """As a server hands on a body without Content-Length."""
    extra = {
        "wsgi.input": BytesIO(body),
        "wsgi.input_terminated": ends,
        "CONTENT_LENGTH": "",
        "CONTENT_TYPE": "application/json",
        "HTTP_TRANSFER_ENCODING": "chunked",
    }
    return client.generic("POST", "/v1/echo", **extra)  # type: ignore[arg-type]


def test_a_body_in_chunks_is_read(client: Client) -> None:
    assert send_in_chunks(client, b'{"a": 1.50}').json() == {"data": {"a": 1.5}, "bytes": 11}


def test_a_body_in_chunks_has_the_same_limit(client: Client) -> None:
    exact = b'{"a":"' + b"x" * (MAX_BODY_BYTES - 8) + b'"}'
    assert send_in_chunks(client, exact).json()["bytes"] == MAX_BODY_BYTES
    error = check_error(send_in_chunks(client, exact + b" "))
    assert error["code"] == "body_too_large"


def test_a_body_whose_end_the_server_does_not_know_is_refused(client: Client) -> None:
    assert check_error(send_in_chunks(client, b"{}", ends=False))["code"] == "invalid_request"


@pytest.mark.parametrize("charset", ["bz2_codec", "utf-16", "idna", "rot13", "nonsense", "\x00"])
def test_a_charset_never_chooses_how_the_query_is_read(client: Client, charset: str) -> None:
    response = client.generic("GET", "/v1/orders?a=%C3%A9", content_type=f"application/json; charset={charset}")
    assert response.json()["query"] == {"a": "\u00e9"}
