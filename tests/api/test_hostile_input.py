"""Over HTTP, through everything: hostile input is refused in the one shape, and leaves nothing behind."""

from __future__ import annotations

import json
from typing import Any

import pytest

from config.environments import Environment
from merchants.models import IdempotencyRecord, RecordCountDelta
from payments.models import Payment
from tests.api import hostile
from tests.api.errors import check_error
from tests.factories import ApiClient, api_client, make_key
from webhooks.models import Event

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(db: None) -> ApiClient:
    client = api_client(make_key(environment=Environment.SANDBOX))
    client.raise_request_exception = False
    return client


def send(client: ApiClient, case: hostile.HostileBody, path: str = "/payments", method: str = "POST") -> Any:
    return client.generic(method, client.base + path, case.body, content_type=case.content_type, headers=case.headers)


@pytest.mark.parametrize("case", [*hostile.PARSER, *hostile.FIELDS], ids=lambda case: case.name)
def test_a_hostile_body_creates_nothing(client: ApiClient, case: hostile.HostileBody) -> None:
    response = send(client, case)
    error = check_error(response)
    assert (response.status_code, error["type"], error["code"]) == (400, "invalid_request_error", case.code)
    if case.param is not None:
        assert error["param"] == case.param
    assert len(response.content) < 5000
    for table in (Payment, Event, RecordCountDelta, IdempotencyRecord):
        assert not table.objects.exists()


@pytest.mark.parametrize("case", hostile.QUERIES, ids=lambda case: case.name)
def test_a_hostile_query_is_refused(client: ApiClient, case: hostile.HostileQuery) -> None:
    response = client.get(f"{client.base}/payments?{case.query}")
    error = check_error(response)
    assert (response.status_code, error["type"], error["code"]) == (400, "invalid_request_error", case.code)
    assert error["param"] == case.param
    assert len(response.content) < 5000


@pytest.mark.parametrize("case", hostile.PARSER, ids=lambda case: case.name)
def test_a_hostile_body_is_refused_where_nothing_is_expected_of_it(
    client: ApiClient, case: hostile.HostileBody
) -> None:
    payment_id = client.call("POST", "/payments", json_body=hostile.VALID).json()["id"]
    response = send(client, case, f"/payments/{payment_id}/cancel")
    assert (response.status_code, check_error(response)["code"]) == (400, case.code)
    assert Payment.objects.get().status == "created"


@pytest.mark.parametrize(
    "name",
    [
        "pay_",
        "%00",
        "%FF",
        "%27--",
        "%F0%9F%98%80",
        "..",
        "%2e%2e%2fmerchant",
        "null",
        "-1",
        "a b",
        "x" * 5000,
        "ref_01kfjhr3c8e4bs0dz6wd5n5yry",
        "pay_01kfjhr3c8e4bs0dz6wd5n5yry",
        "pay_01KFJHR3C8E4BS0DZ6WD5N5YRY",
        "pay_01kfjhr3c8e4bs0dz6wd5n5yry%00",
        "pay_01kfjhr3c8e4bs0dz6wd5n5yry%0A",
        "pay_０１kfjhr3c8e4bs0dz6wd5n5yry",
        "pay_" + "z" * 26,
    ],
)
def test_an_id_that_names_nothing_is_a_404_whatever_it_looks_like(client: ApiClient, name: str) -> None:
    bodies = set()
    for path in (f"/payments/{name}", f"/payments/{name}/timeline"):
        response = client.get(client.base + path)
        error = check_error(response)
        assert (response.status_code, error["type"], error["code"]) == (404, "not_found_error", "resource_missing")
        bodies.add(json.dumps({key: value for key, value in error.items() if key != "requestId"}))
    assert len(bodies) <= 2


def test_the_valid_body_the_cases_are_made_of_is_valid(client: ApiClient) -> None:
    response = client.call("POST", "/payments", json_body=hostile.VALID)
    assert response.status_code == 201, response.content
    assert response.json()["amount"] == 25.5
