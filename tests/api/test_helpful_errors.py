"""Each mistake of a first day is answered with what would have been right, in the one shape of an error."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from django.test import Client

from config.environments import Environment
from merchants.access import signing
from merchants.models import AttemptCount
from tests.api import hostile
from tests.api.errors import check_error
from tests.factories import ApiClient, api_client, key_headers, make_key

pytestmark = pytest.mark.django_db

EVENT = "evt_01kfjhr3c8e4bs0dz6wd5n5yry"
PAYMENT = "pay_01kfjhr3c8e4bs0dz6wd5n5yry"
AN_EVENT = "evt_… is the id of an event; that of a payment begins with pay_. An event has it in data.object.id."
NO_PAGES = "Lists have no page numbers: send the id of the last record you have as starting_after."
BOTH = "Send the public key as Authorization: Bearer pk_… and the secret key as X-Api-Secret: sk_…."


@pytest.fixture
def client(db: None) -> ApiClient:
    return api_client(make_key(environment=Environment.SANDBOX))


def refused(response: Any) -> tuple[int, str, str]:
    error = check_error(response)
    return response.status_code, error["code"], error["message"]


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("/sandbox/v1/payments/", "Did you mean /sandbox/v1/payments? Addresses have no slash at their end."),
        ("/v1/payments/", "Did you mean /v1/payments? Addresses have no slash at their end."),
        ("/sandbox/v1/payment", "Did you mean /sandbox/v1/payments?"),
        ("/sandbox/payments", "Did you mean /sandbox/v1/payments?"),
        ("/v1//payments", "Did you mean /v1/payments?"),
        ("/v1/Refunds", "Did you mean /v1/refunds?"),
        ("/v1/things", "The reference is at /docs/api."),
        ("/payments", "Did you mean /v1/payments or /sandbox/v1/payments?"),
        ("/api/v1/payments", "Did you mean /v1/payments or /sandbox/v1/payments?"),
        ("/v2/merchant/settings", "Did you mean /v1/merchant/settings or /sandbox/v1/merchant/settings?"),
        ("/nothing", "The API is at /v1, and at /sandbox/v1 with test keys."),
    ],
)
def test_a_wrong_address_names_the_right_one(path: str, meant: str) -> None:
    response = Client().post(path, b"{}", content_type="application/json")
    assert refused(response) == (404, "resource_missing", f'There is nothing at "{path}". {meant}')


@pytest.mark.parametrize("path", ["/payments", "/", "/dashboard"])
def test_a_page_asked_for_with_keys_is_answered_as_the_api(client: ApiClient, path: str) -> None:
    response = client.post(path)
    assert refused(response)[:2] == (404, "resource_missing")
    assert "/sandbox/v1" in response.json()["error"]["message"]


def test_a_person_still_gets_pages() -> None:
    response = Client().get("/payments", headers={"Accept": "text/html,application/json;q=0.9"})
    assert (response.status_code, response.headers["Content-Type"]) == (404, "text/html; charset=utf-8")


@pytest.mark.parametrize(
    ("method", "path", "named", "allow"),
    [
        ("PUT", "/payments", "GET and POST", "GET, HEAD, POST"),
        ("DELETE", f"/payments/{PAYMENT}", "GET and PATCH", "GET, HEAD, PATCH"),
        ("PUT", "/merchant/settings", "PATCH", "PATCH"),
        ("GET", f"/payments/{PAYMENT}/cancel", "POST", "POST"),
        ("POST", "/openapi.json", "GET", "GET, HEAD"),
    ],
)
def test_a_wrong_method_names_the_right_ones(client: ApiClient, method: str, path: str, named: str, allow: str) -> None:
    response = client.call(method, path)
    message = f'{method} is not possible at "/sandbox/v1{path}", which takes {named}.'
    if method == "DELETE":
        message += f" To end it while nothing was paid: POST /sandbox/v1{path}/cancel."
    assert refused(response) == (405, "method_not_allowed", message)
    assert sorted(response.headers["Allow"].split(", ")) == allow.split(", ")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda p, s: (f"Bearer {s}", p), f"The two keys are swapped. {BOTH}"),
        (lambda p, s: (f"Bearer {s}", s), f"Authorization has a secret key (sk_…). {BOTH}"),
        (lambda p, s: (f"Bearer {p}", p), f"X-Api-Secret has a public key (pk_…). {BOTH}"),
        (
            lambda p, s: (f'Bearer "{p}"', s),
            "The key in Authorization stands in quotation marks or brackets. Send it without them.",
        ),
        (
            lambda p, s: (f"Bearer {p}", f"'{s}'"),
            "The key in X-Api-Secret stands in quotation marks or brackets. Send it without them.",
        ),
        (
            lambda p, s: (f"Bearer {p}", f"Bearer {s}"),
            "X-Api-Secret takes the secret key alone, without Bearer before it.",
        ),
        (
            lambda p, s: (f"Bearer {p}", s.replace("_test_", "_live_")),
            "One of the two keys is for the sandbox (test), the other for production (live). Send both of one pair.",
        ),
        (lambda p, s: (p, s), f"Authorization must be Bearer, a blank and the public key. {BOTH}"),
        (lambda p, s: (f"Bearer {p}", ""), f"The header X-Api-Secret is missing. {BOTH}"),
        (lambda p, s: ("", s), f"The header Authorization is missing. {BOTH}"),
    ],
)
def test_keys_in_the_wrong_form_are_told_the_right_one_and_are_no_guess(given: Any, message: str) -> None:
    issued = make_key(environment=Environment.SANDBOX)
    authorization, secret = given(issued.key.public_key, issued.secret)
    headers = {"Authorization": authorization, "X-Api-Secret": secret}
    response = Client().get("/sandbox/v1/payments", headers={name: text for name, text in headers.items() if text})
    status, code, said = refused(response)
    assert (status, said) == (401, message)
    assert code == ("key_missing" if "missing" in message or "must be Bearer" in message else "key_invalid")
    assert issued.secret.encode() not in response.content
    assert not AttemptCount.objects.exists()


@pytest.mark.parametrize(
    ("method", "path", "body", "param", "message"),
    [
        (
            "GET",
            f"/payments/{EVENT}",
            None,
            None,
            f"No such payment. {AN_EVENT}",
        ),
        (
            "GET",
            f"/refunds/{PAYMENT}",
            None,
            None,
            "No such refund. pay_… is the id of a payment; that of a refund begins with ref_.",
        ),
        ("GET", f"/payments/{PAYMENT.upper()}", None, None, "No such payment. Ids are written in lower case."),
        (
            "POST",
            "/refunds",
            {"paymentId": EVENT},
            "paymentId",
            f"No such payment. {AN_EVENT}",
        ),
        (
            "GET",
            f"/refunds?paymentId={EVENT}",
            None,
            "paymentId",
            f"Must be an id such as pay_…. {AN_EVENT}",
        ),
        (
            "GET",
            f"/payments?starting_after={EVENT}",
            None,
            "starting_after",
            f"Must be the id of a record in this list. {AN_EVENT}",
        ),
        (
            "GET",
            "/payments?page=2",
            None,
            "page",
            f'Unknown parameter: "page". {NO_PAGES}',
        ),
        ("GET", "/payments?per_page=50", None, "per_page", 'Unknown parameter: "per_page". Did you mean limit?'),
    ],
)
def test_a_wrong_id_or_parameter_says_what_is_wanted(
    client: ApiClient, method: str, path: str, body: Any, param: str | None, message: str
) -> None:
    response = client.call(method, path, json_body=body)
    error = check_error(response)
    assert (error["message"], error.get("param")) == (message, param)


@pytest.mark.parametrize(
    ("field", "value", "meant"),
    [
        ("network", "Polygon", "polygon"),
        ("network", "etherium", "ethereum"),
        ("cryptocurrency", "usdc", "USDC"),
        ("currency", "eur", "EUR"),
        ("network", "matic", "polygon"),
        ("network", "eth", "ethereum"),
        ("network", "XLM", "stellar"),
    ],
)
def test_a_word_in_the_wrong_case_is_told_the_right_one(client: ApiClient, field: str, value: str, meant: str) -> None:
    error = check_error(client.call("POST", "/payments", json_body={**hostile.VALID, field: value}))
    assert (error["code"], error["param"]) == ("invalid_parameter", field)
    assert error["message"].endswith(f". Did you mean {meant}?")


def test_words_of_other_gateways_are_told_ours(client: ApiClient) -> None:
    def listening_to(event: str) -> Any:
        return client.call("POST", "/webhooks", json_body={"url": "https://shop.example.com/hook", "events": [event]})

    told = {
        status: check_error(client.call("GET", f"/payments?status={status}"))["message"].partition("Did you mean ")[2]
        for status in ("paid", "succeeded", "confirmed", "new", "partially_paid", "canceled")
    } | {
        event: check_error(listening_to(event))["message"].partition("Did you mean ")[2]
        for event in (
            "payment.paid",
            "payment.succeeded",
            "charge.succeeded",
            "refund.succeeded",
            "payout.paid",
            "nonsense",
        )
    }
    assert told == {
        "paid": "completed?",
        "succeeded": "completed?",
        "confirmed": "completed?",
        "new": "created?",
        "partially_paid": "underpaid?",
        "canceled": "cancelled?",
        "payment.paid": "payment.completed?",
        "payment.succeeded": "payment.completed?",
        "charge.succeeded": "payment.completed?",
        "refund.succeeded": "refund.completed?",
        "payout.paid": "settlement.completed?",
        "nonsense": "",
    }


def test_a_signature_time_in_seconds_is_told_its_unit() -> None:
    issued = make_key(environment=Environment.SANDBOX)
    seconds = str(int(time.time()))
    signature = signing.signature_of(
        secret=issued.secret, timestamp=seconds, method="GET", path="/v1/payments", body=b""
    )
    headers = {**key_headers(issued), "X-Service-Timestamp": seconds, "X-Service-Signature": signature}
    status, code, message = refused(Client().get("/sandbox/v1/payments", headers=headers))
    assert (status, code) == (401, "signature_timestamp_out_of_range")
    assert message.startswith("X-Service-Timestamp is in seconds. Send milliseconds since the Unix epoch, as ")


def test_how_long_to_wait_is_said_in_the_text_as_in_the_header(client: ApiClient) -> None:
    for _ in range(100):
        client.call("GET", "/merchant")
    response = client.call("GET", "/merchant")
    seconds = response.headers["Retry-After"]
    assert refused(response) == (429, "rate_limit_exceeded", f"Too many requests. Try again in {seconds} seconds.")


@pytest.mark.parametrize("optional", ["redirectUrl", "webhookUrl", "expiresIn", "metadata"])
def test_an_optional_field_of_a_payment_may_be_null(client: ApiClient, optional: str) -> None:
    body = {**hostile.VALID, optional: None}
    record = client.call("POST", "/payments", json_body=body).json()
    assert record[optional] == {"expiresIn": 1800, "metadata": {}}.get(optional)


def test_null_in_a_change_leaves_the_field_as_it_is(client: ApiClient) -> None:
    before = client.call(
        "PATCH", "/merchant/settings", json_body={"settlementSchedule": {"frequency": "weekly"}}
    ).json()
    nothing = {
        "settlementCurrency": None,
        "settlementSchedule": {"frequency": None, "time": None, "timezone": None, "minimumAmount": None},
        "paymentTolerance": None,
        "latePayments": None,
        "surplus": None,
        "surplusKept": None,
        "walletAllowList": None,
    }
    assert client.call("PATCH", "/merchant/settings", json_body=nothing).json() == before
    hook = client.call("POST", "/webhooks", json_body={"url": "https://shop.example.com/", "events": None}).json()
    same = client.call("PATCH", f"/webhooks/{hook['id']}", json_body={"url": None, "description": None}).json()
    assert (same["url"], same["events"]) == ("https://shop.example.com/", ["*"])


METADATA = (
    b'{"order":7,"rate":1.10,"small":0.00000000000000000001,"huge":123456789012345678901234567890,"paid":true,'
    b'"note":null,"lines":[{"sku":"A-1","price":19.99,"tags":[]}],"":"","k\\n":{"deep":{"deeper":[1,[2,[3]]]}}}'
)


def test_metadata_takes_any_json_and_gives_it_back_with_every_digit(client: ApiClient) -> None:
    body = json.dumps({**hostile.VALID, "metadata": "@"}).encode().replace(b'"@"', METADATA)
    created = client.generic("POST", "/sandbox/v1/payments", body, content_type="application/json")
    payment = created.json()
    shown = client.call("GET", f"/payments/{payment['id']}")
    listed = client.call("GET", "/payments")
    event = client.call("GET", "/events")
    for reply in (created, shown, listed, event):
        text = reply.content.replace(b" ", b"")
        for digits in (b":1.10", b":0.00000000000000000001", b":123456789012345678901234567890", b":19.99"):
            assert digits in text, digits
    assert shown.json()["metadata"] == payment["metadata"] == listed.json()["data"][0]["metadata"]
    assert payment["metadata"]["lines"] == [{"sku": "A-1", "price": 19.99, "tags": []}]


def test_metadata_past_16_kib_is_refused(client: ApiClient) -> None:
    fits = {"note": "x" * (16 * 1024 - len('{"note":""}'))}
    assert client.call("POST", "/payments", json_body={**hostile.VALID, "metadata": fits}).status_code == 201
    fits["note"] += "x"
    error = check_error(client.call("POST", "/payments", json_body={**hostile.VALID, "metadata": fits}))
    assert (error["param"], error["message"]) == (
        "metadata",
        "Must have at most 16,384 bytes as JSON without blanks; this has 16,385.",
    )
