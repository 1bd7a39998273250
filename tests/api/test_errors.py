"""Whatever goes wrong, and wherever, the caller gets one shape of error and nothing of our insides."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.test import Client, override_settings

from tests.api.errors import check_error
from tests.api.urls import FAILURES

pytestmark = [pytest.mark.urls("tests.api.urls"), pytest.mark.django_db]

EXPECTED = {
    "domain": (400, "invalid_request_error", "payment_not_cancellable"),
    "domain-param": (400, "invalid_request_error", "payment_not_cancellable"),
    "domain-fields": (400, "invalid_request_error", "payment_not_cancellable"),
    "domain-missing": (404, "not_found_error", "resource_missing"),
    "http404": (404, "not_found_error", "resource_missing"),
    "not-found": (404, "not_found_error", "resource_missing"),
    "permission": (403, "permission_error", "permission_denied"),
    "rest-permission": (403, "permission_error", "permission_denied"),
    "rest-permission-named": (403, "permission_error", "scope_missing"),
    "not-authenticated": (401, "authentication_error", "authentication_failed"),
    "authentication-named": (401, "authentication_error", "key_revoked"),
    "throttled": (429, "rate_limit_error", "rate_limit_exceeded"),
    "parse": (400, "invalid_request_error", "invalid_request"),
    "suspicious": (400, "invalid_request_error", "invalid_request"),
    "operational": (503, "api_error", "service_unavailable"),
    "data": (400, "invalid_request_error", "invalid_parameter"),
    "statement-timeout": (503, "api_error", "service_unavailable"),
    "integer-overflow": (400, "invalid_request_error", "invalid_parameter"),
    "bug": (500, "api_error", "internal_error"),
    "value": (500, "api_error", "internal_error"),
    "rest-500": (500, "api_error", "internal_error"),
}


@pytest.fixture
def client() -> Client:
    return Client(raise_request_exception=False)


def post(client: Client, body: bytes | str, **extra: Any) -> Any:
    return client.post("/v1/orders", body, content_type="application/json", **extra)


@pytest.mark.parametrize("prefix", ["/v1/", "/sandbox/v1/"])
@pytest.mark.parametrize("name", FAILURES)
def test_every_failure_has_its_status_type_and_code(client: Client, name: str, prefix: str) -> None:
    response = client.get(f"{prefix}fail/{name}")
    error = check_error(response)
    assert (response.status_code, error["type"], error["code"]) == EXPECTED[name]
    assert b"secret" not in response.content
    assert b"Traceback" not in response.content


def test_a_fault_of_ours_is_logged_with_its_trace(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, logger="config.api.exceptions"):
        client.get("/v1/fail/bug")
    (record,) = [record for record in caplog.records if record.name == "config.api.exceptions"]
    assert record.exc_info is not None
    assert record.exc_info[0] is ZeroDivisionError


def test_a_refusal_is_not_logged_as_a_fault(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="config.api.exceptions"):
        client.get("/v1/fail/domain")
    assert [record for record in caplog.records if record.name == "config.api.exceptions"] == []


def test_what_may_be_tried_again_says_when(client: Client) -> None:
    assert client.get("/v1/fail/operational").headers["Retry-After"] == "2"
    assert client.get("/v1/fail/throttled").headers["Retry-After"] == "3"
    assert client.get("/v1/fail/domain-param").headers["Retry-After"] == "7"
    assert "Retry-After" not in client.get("/v1/fail/domain").headers


def test_an_unknown_caller_is_challenged(client: Client) -> None:
    assert client.get("/v1/fail/not-authenticated").headers["WWW-Authenticate"].startswith("Bearer")


def test_a_domain_error_names_its_parameter(client: Client) -> None:
    assert client.get("/v1/fail/domain-param").json()["error"]["param"] == "status"
    several = client.get("/v1/fail/domain-fields").json()["error"]
    assert several["param"] == "a"
    assert [each["param"] for each in several["errors"]] == ["a", "b.c"]


def test_one_missing_field_is_named_at_the_top(client: Client) -> None:
    error = check_error(post(client, '{"name": "abc"}'))
    assert (error["code"], error["param"]) == ("missing_parameter", "count")
    assert error["message"] == "Missing required parameter: count."
    assert "errors" not in error


def test_several_faults_are_all_listed_and_the_first_stands_on_top(client: Client) -> None:
    error = check_error(post(client, '{"name": "abcdef", "cuont": 1}'))
    assert [(each["param"], each["code"]) for each in error["errors"]] == [
        ("name", "invalid_parameter"),
        ("count", "missing_parameter"),
        ("cuont", "unknown_parameter"),
    ]
    assert {name: error[name] for name in ("param", "code", "message")} == error["errors"][0]
    assert error["errors"][2]["message"] == 'Unknown parameter: "cuont". Did you mean count?'


def test_nested_faults_have_dotted_names(client: Client) -> None:
    body = '{"name": "a", "count": 1, "first": {"name": 5}, "parts": [{"name": "a"}, {"name": "abcdef", "b": 1}, 3]}'
    error = check_error(post(client, body))
    assert [each["param"] for each in error["errors"]] == ["first.name", "parts.1.name", "parts.1.b", "parts.2"]


def test_null_is_told_from_missing(client: Client) -> None:
    error = check_error(post(client, '{"name": "a", "count": null}'))
    assert (error["code"], error["param"]) == ("invalid_parameter", "count")
    assert error["message"] == "count may not be null."


def test_a_thousand_unknown_fields_are_answered_briefly(client: Client) -> None:
    fields = ",".join(f'"field{number}": 1' for number in range(10_000))
    response = post(client, f'{{"name": "a", "count": 1, {fields}}}')
    error = check_error(response)
    assert error["code"] == "unknown_parameter"
    assert len(error["errors"]) == 10
    assert len(response.content) < 3000


def test_an_unknown_field_with_a_huge_name_is_answered_briefly(client: Client) -> None:
    response = post(client, '{"name": "a", "count": 1, "%s": 1}' % ("x" * 200_000))
    assert check_error(response)["code"] == "unknown_parameter"
    assert len(response.content) < 1000


def test_the_wrong_method_is_a_405_that_names_the_right_ones(client: Client) -> None:
    response = client.delete("/v1/orders")
    error = check_error(response)
    assert (response.status_code, error["type"], error["code"]) == (405, "invalid_request_error", "method_not_allowed")
    assert response.headers["Allow"] == "GET, POST, HEAD, OPTIONS"


def test_options_tells_nothing(client: Client) -> None:
    assert client.options("/v1/orders").status_code == 405


@pytest.mark.parametrize(
    "path",
    [
        "/v1/nothing", "/v1/orders/", "/v1", "/v1/", "/v1/a%00b",
        "/sandbox/v1/nothing", "/sandbox/v1", "/sandbox", "/sandbox/orders",
    ],
)  # fmt: skip
def test_an_unknown_address_under_the_api_is_json(client: Client, path: str) -> None:
    response = client.get(path)
    assert (response.status_code, check_error(response)["code"]) == (404, "resource_missing")


def test_an_unknown_address_elsewhere_is_a_page(client: Client) -> None:
    response = client.get("/v1nothing")
    assert response.status_code == 404
    assert response.headers["Content-Type"].startswith("text/html")
    assert response.headers["X-Request-Id"].startswith("req_")


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("outside", 500, "internal_error"),
        ("suspicious", 400, "invalid_request"),
        ("forbidden", 403, "permission_denied"),
    ],
)
def test_a_failure_outside_the_framework_is_json_under_the_api(
    client: Client, path: str, status: int, code: str
) -> None:
    response = client.get(f"/v1/{path}")
    assert (response.status_code, check_error(response)["code"]) == (status, code)
    assert b"secret" not in response.content


def test_a_failure_elsewhere_is_a_page(client: Client) -> None:
    response = client.get("/outside")
    assert response.status_code == 500
    assert response.headers["Content-Type"].startswith("text/html")
    assert b"secret" not in response.content
    assert response.headers["X-Request-Id"].startswith("req_")


def test_a_host_we_do_not_serve_is_refused_as_json(client: Client) -> None:
    with override_settings(ALLOWED_HOSTS=["pay.example.com"]):
        response = client.get("/v1/orders", headers={"Host": "evil.example"})
    assert (response.status_code, check_error(response)["code"]) == (400, "invalid_request")


def test_too_many_query_parameters_are_refused(client: Client) -> None:
    response = client.get("/v1/orders?" + "&".join(f"a{number}=1" for number in range(1001)))
    assert (response.status_code, check_error(response)["code"]) == (400, "invalid_request")


def test_a_body_past_the_limit_is_refused_before_it_is_read(client: Client) -> None:
    response = post(client, b'{"name": "' + b"x" * 3_000_000 + b'"}')
    assert (response.status_code, check_error(response)["code"]) == (400, "body_too_large")
