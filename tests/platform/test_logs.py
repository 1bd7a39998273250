"""No secret reaches a log line or an error page, whichever way it is written."""

from __future__ import annotations

import io
import json
import logging
import logging.config
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import structlog
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import URLPattern, get_resolver, reverse
from django.views.debug import technical_500_response

from config.process import logs

SECRETS = (
    "sk_live_" + "A1b2C3d4" * 5,
    "sk_test_" + "Z9y8X7w6" * 5,
    "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "/refund/WyJyZWZfMDFrZmptMnc3cSIsMV0:1vit8M:4qLk9Xv0-hR7b2_JmQy5tUe8nWc",
)

OPAQUE = "MTox-opaque:1vit8M:4qLk9Xv0"

Log = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def written() -> Iterator[Log]:
    """The lines written so far, by a root handler configured the way production's is."""
    configuration = logs.configuration(level="INFO", as_json=True)
    stream = io.StringIO()
    configuration["handlers"]["standard_error"]["stream"] = stream
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    logging.config.dictConfig(configuration)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.parametrize("secret", SECRETS)
def test_our_own_secrets_are_redacted_wherever_they_stand(written: Log, secret: str) -> None:
    logging.getLogger("plain").warning("a caller sent %s twice: %s", secret, {"nested": [secret]})
    structlog.get_logger("structured").info("called", body=f'{{"x": "{secret}"}}', deep={"list": [(secret,)]})
    text = json.dumps(written())
    assert secret not in text
    assert secret[-20:] not in text
    assert text.count(logs.REDACTED) == 4


@pytest.mark.parametrize(
    "name",
    [
        "Authorization", "HTTP_AUTHORIZATION", "X-Api-Secret", "HTTP_X_API_SECRET", "X-Service-Signature", "password",
        "new_password", "csrfmiddlewaretoken", "csrf_token", "sessionid", "session_key", "Cookie", "Set-Cookie",
        "SECRET_KEY", "API_KEY_PEPPER", "access_token",
    ],
)  # fmt: skip
def test_a_value_under_a_secret_name_is_redacted(written: Log, name: str) -> None:
    structlog.get_logger("structured").info("called", **{name: "opaque-value"}, headers={name: "opaque-value"})
    logging.getLogger("plain").warning(
        "headers %s", {"inner": {name: "opaque-value"}}, extra={"sent": {name: "opaque-value"}}
    )
    lines = written()
    assert "opaque-value" not in json.dumps([lines[0], lines[1]["sent"]])


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer opaque-value",
        "authorization=Basic opaque-value",
        "X-Api-Secret: opaque-value",
        "Cookie: a=1; ballast_session=opaque-value; b=2",
        "{'password': 'opaque-value'}",
        '{"csrfmiddlewaretoken": "opaque-value"}',
        "POST /login?password=opaque-value&next=/",
        "could not connect to postgres://ballast:opaque-value@db:5432/ballast",
        "redis://:opaque-value@redis:6379/0 is down",
    ],
)
def test_a_secret_inside_a_sentence_is_redacted(written: Log, text: str) -> None:
    logging.getLogger("plain").warning(text)
    [line] = written()
    assert "opaque-value" not in line["event"]
    assert logs.REDACTED in line["event"]


def links_with_a_secret() -> Iterator[str]:
    """A path of every page whose address holds a token or a key: who has it is let in."""
    for route in (each for each in get_resolver().url_patterns if isinstance(each, URLPattern)):
        names = set(route.pattern.regex.groupindex)
        if {"token", "key"} & names:
            yield reverse(
                str(route.name), kwargs=dict.fromkeys(names, "1z") | {(names - {"uidb36", "form"}).pop(): OPAQUE}
            )


def test_a_link_that_lets_somebody_in_is_redacted() -> None:
    links = list(links_with_a_secret())
    assert len(links) == 7
    assert [link for link in links if "opaque" in logs.redact(f"Not Found: {link}")] == []
    assert logs.redact("/password/sent and /account/password, /refunds/ref_01") == (
        "/password/sent and /account/password, /refunds/ref_01"
    )


def test_a_traceback_is_one_line_without_its_secrets(written: Log) -> None:
    try:
        raise ValueError(f"bad key {SECRETS[0]}")
    except ValueError:
        logging.getLogger("plain").exception("failed")
    [line] = written()
    assert "ValueError: bad key sk_live_[redacted]" in line["exception"]


def test_a_line_carries_the_id_of_its_request_and_plain_words_stay(written: Log) -> None:
    with structlog.contextvars.bound_contextvars(request_id="req_1"):
        logging.getLogger("django.request").warning("Not Found: %s", "/v1/payments/pay_1")
    [line] = written()
    assert line["request_id"] == "req_1"
    assert line["event"] == "Not Found: /v1/payments/pay_1"
    assert line["level"] == "warning"
    assert line["logger"] == "django.request"
    assert line["timestamp"].endswith("Z")


def error_page(request: HttpRequest) -> HttpResponse:
    """What Django shows for a view that fails while it holds secrets in its variables and its messages."""
    opened_with, password = SECRETS[0], "".join(["opaque", "-", "value"])
    try:
        try:
            raise LookupError(f"no such key: {SECRETS[2]}")
        except LookupError as error:
            raise RuntimeError(f"could not use {opened_with} with {len(password)} characters") from error
    except RuntimeError:
        return technical_500_response(request, *sys.exc_info())


@pytest.mark.parametrize("accept", ["text/html", "text/plain"])
def test_the_debug_error_page_shows_no_secret(settings: Any, accept: str) -> None:
    settings.DEBUG = True
    request = RequestFactory().post(
        f"/login?token=opaque-value&key={SECRETS[1]}",
        {"password": "opaque-value", "csrfmiddlewaretoken": "opaque-value", "note": SECRETS[1], "email": "a@b.example"},
        headers={"Authorization": "Bearer opaque-value", "X-Api-Secret": SECRETS[1], "Accept": accept},
    )
    request.COOKIES[settings.SESSION_COOKIE_NAME] = "opaque-value"
    page = error_page(request).content.decode()
    assert "RuntimeError" in page
    assert "a@b.example" in page
    assert "opaque-value" not in page
    assert not [secret for secret in SECRETS if secret in page]
    assert settings.SECRET_KEY not in page
    assert settings.API_KEY_PEPPER not in page


@pytest.mark.django_db
@pytest.mark.parametrize(("path", "status"), [("/v1/payments", 401), ("/v1/nothing", 404), ("/nothing", 404)])
def test_a_refusal_is_logged_with_the_id_of_its_request(written: Log, client: Client, path: str, status: int) -> None:
    response = client.get(path)
    lines = [line for line in written() if line["logger"] == "django.request"]
    assert [(line["status_code"], line["request_id"]) for line in lines] == [(status, response.headers["X-Request-Id"])]
