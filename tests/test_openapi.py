"""The OpenAPI document is valid, complete, and the one in docs/openapi.json."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from django.test import Client
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.validation import validate_schema
from stellar_sdk import Keypair

from config.api.meanings import MEANINGS
from config.api.schema import ERROR, BallastSchema
from config.api.views import openapi_document
from config.pages.samples import SANDBOX_WALLET
from payments.api.examples import NEW_LINK, NEW_PAYMENT, OPEN_PAYMENT
from tests.api.errors import ERROR_SCHEMA, check_error
from tests.factories import api_client, make_key, make_merchant
from webhooks.events.catalogue import CATALOGUE
from webhooks.events.samples import SAMPLES

SNAPSHOT = Path(__file__).parent.parent / "docs" / "openapi.json"
REWRITE = "./manage.py spectacular --format openapi-json --file docs/openapi.json"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    value: dict[str, Any] = json.loads(openapi_document())
    return value


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


def resolved(document: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in value:
        target: Any = document
        for part in value["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        value = target
    return value


def test_the_document_is_the_one_in_docs(document: dict[str, Any]) -> None:
    assert document == json.loads(SNAPSHOT.read_text()), f"if the change is meant, write it down: {REWRITE}"


def test_the_document_rests_on_what_drf_spectacular_documents() -> None:
    overridden = [name for name in vars(BallastSchema) if name.startswith("_") and not name.startswith("__")]
    assert [name for name in overridden if hasattr(AutoSchema, name)] == []


def test_the_document_is_valid_openapi_3_1(document: dict[str, Any]) -> None:
    assert document["openapi"] == "3.1.0"
    validate_schema(document)  # type: ignore[no-untyped-call]  # drf-spectacular has no types here


def test_the_specifications_routes_are_there_with_their_statuses(document: dict[str, Any]) -> None:
    successes = {
        (method, path): [status for status in operation["responses"] if status < "300"]
        for method, path, operation in operations(document)
    }
    assert successes[("post", "/payments")] == ["201"]
    assert successes[("post", "/refunds")] == ["201"]
    for method, path in [
        ("get", "/payments"),
        ("get", "/payments/{payment_id}"),
        ("post", "/payments/{payment_id}/cancel"),
        ("get", "/refunds"),
        ("get", "/refunds/{refund_id}"),
        ("get", "/merchant"),
        ("patch", "/merchant/settings"),
    ]:
        assert successes[(method, path)] == ["200"]


def test_every_operation_is_named_by_what_it_does(document: dict[str, Any]) -> None:
    verbs = {"Accept", "Cancel", "Close", "Create", "Delete", "Explain", "Get", "Give", "List", "Preview"}
    verbs |= {"Replay", "Rotate", "Send", "Simulate", "Update"}
    summaries = [operation["summary"] for _, _, operation in operations(document)]
    assert [summary for summary in summaries if summary.partition(" ")[0] not in verbs] == []
    assert len(summaries) == len(set(summaries)) >= 45


def test_every_operation_needs_both_keys_and_says_how_it_refuses(document: dict[str, Any]) -> None:
    for method, path, operation in operations(document):
        assert operation["security"] == [{"publicKey": [], "privateKey": []}]
        assert operation["summary"]
        assert operation["description"].count("Scope: `") == 1
        expected = {"401", "403", "429", "500", "503"}
        expected |= {"400"} if method != "get" else set()
        expected |= {"404"} if "{" in path else set()
        expected |= {"409"} if method == "post" else set()
        assert expected <= operation["responses"].keys(), (method, path)


def test_every_error_example_is_an_error(document: dict[str, Any]) -> None:
    codes = set()
    validators = [jsonschema.Draft202012Validator(schema) for schema in (ERROR_SCHEMA, ERROR)]
    for _, _, operation in operations(document):
        for status, response in operation["responses"].items():
            if status < "400":
                continue
            content = resolved(document, response)["content"]["application/json"]
            assert content["schema"] == {"$ref": "#/components/schemas/ErrorReply"}
            for code, example in content["examples"].items():
                for validator in validators:
                    validator.validate(example["value"])
                assert example["value"]["error"]["code"] == code
                codes.add(code)
    assert {"missing_parameter", "rate_unavailable", "payment_not_cancellable", "idempotency_key_in_use"} <= codes


def test_every_other_example_fits_its_schema(document: dict[str, Any]) -> None:
    seen = 0
    for _, _, operation in operations(document):
        places = [operation.get("requestBody", {}), *(operation["responses"].values())]
        for place in places:
            content = resolved(document, place).get("content", {}).get("application/json", {})
            if content.get("schema") == {"$ref": "#/components/schemas/ErrorReply"}:
                continue
            for example in content.get("examples", {}).values():
                schema = {**content["schema"], "components": document["components"]}
                jsonschema.validate(example["value"], schema, format_checker=jsonschema.FormatChecker())
                seen += 1
    assert seen >= 4


WEBHOOK = {"url": "https://shop.example.com/hook"}
REFUSED_BY_BOTH: list[tuple[str, str, dict[str, Any]]] = [
    ("post", "/webhooks", {**WEBHOOK, "events": []}),
    ("patch", "/merchant/settings", {"paymentTolerance": 0.6}),
    ("patch", "/merchant/settings", {"paymentTolerance": "0.51"}),
    ("patch", "/merchant/settings", {"walletAllowList": ["our wallet"]}),
    ("post", "/payments", {**NEW_PAYMENT, "merchantWallet": "0x5290…9EE7"}),
    ("post", "/payments", {**NEW_PAYMENT, "merchantWallet": "shop.eth"}),
    ("post", "/payments", {**NEW_PAYMENT, "merchantWallets": {"polygon": SANDBOX_WALLET}}),
    ("post", "/payments", {**OPEN_PAYMENT, "network": "polygon"}),
    ("post", "/payment-links", {**NEW_LINK, "merchantWallets": {"polygon": "G" + "A" * 55}}),
]
TAKEN_BY_BOTH: list[tuple[str, str, dict[str, Any]]] = [
    ("post", "/webhooks", {**WEBHOOK, "events": ["*"]}),
    *(("patch", "/merchant/settings", {"paymentTolerance": text}) for text in ("0.5", "0.50", "00.4900", "0", 0.5)),
    ("patch", "/merchant/settings", {"walletAllowList": [SANDBOX_WALLET, Keypair.random().public_key]}),
    ("post", "/payments", {**NEW_PAYMENT, "merchantWallet": SANDBOX_WALLET}),
    ("post", "/payments", {**OPEN_PAYMENT, "merchantWallets": {"polygon": SANDBOX_WALLET}}),
    ("post", "/payments", {"amount": 5, "currency": "EUR", "merchantWallets": None}),
]


@pytest.mark.django_db
@pytest.mark.parametrize("is_taken", [True, False])
def test_the_schema_is_as_strict_as_the_server(document: dict[str, Any], is_taken: bool) -> None:
    client = api_client(make_key(make_merchant()))
    for method, path, body in TAKEN_BY_BOTH if is_taken else REFUSED_BY_BOTH:
        content = document["paths"][path][method]["requestBody"]["content"]["application/json"]
        schema = {**content["schema"], "components": document["components"]}
        fits = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker()).is_valid(body)
        reply = client.call(method.upper(), path, json_body=body)
        assert (fits, reply.status_code < 300) == (is_taken, is_taken), (path, body, reply.content)
    [at] = document["paths"]["/balance"]["get"]["parameters"]
    for day, is_known in (("1969-12-31", False), ("1970-01-01", True), ("2026-11-24T10:00:00Z", True)):
        assert jsonschema.Draft202012Validator(at["schema"]).is_valid(day) is is_known
        assert (client.call("GET", f"/balance?at={day}").status_code == 200) is is_known


def test_ids_and_parameters_are_named_as_the_specification_writes_them(document: dict[str, Any]) -> None:
    (listing,) = [
        operation for _, path, operation in operations(document) if operation["operationId"] == "payments_list"
    ]
    assert [parameter["name"] for parameter in listing["parameters"]] == [
        "limit",
        "starting_after",
        "ending_before",
        "created_gte",
        "created_lte",
        "status",
        "network",
        "cryptocurrency",
        "currency",
        "amount_gte",
        "amount_lte",
        "metadata",
        "paymentLink",
    ]
    body = document["components"]["schemas"]["NewPaymentRequest"]
    assert body["additionalProperties"] is False
    assert set(body["required"]) == {"amount", "currency"}
    together = {"cryptocurrency", "network", "merchantWallet"}
    assert {name: {name, *others} for name, others in body["dependentRequired"].items()} == dict.fromkeys(
        together, together
    )
    assert body["properties"]["amount"]["type"] == "number"


@pytest.mark.parametrize("path", ["/v1/openapi.json", "/sandbox/v1/openapi.json"])
def test_the_document_is_served_without_a_key(path: str) -> None:
    response = Client().get(path)
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/json"
    assert response.content == openapi_document()


def test_the_document_is_only_read() -> None:
    response = Client(enforce_csrf_checks=True).post("/v1/openapi.json", "{}", content_type="application/json")
    assert (response.status_code, check_error(response)["code"]) == (405, "method_not_allowed")
    assert response.headers["Allow"] == "GET, HEAD"


def test_every_field_has_a_meaning(document: dict[str, Any]) -> None:
    fields = [
        (name, field, described)
        for name, schema in document["components"]["schemas"].items()
        for field, described in schema.get("properties", {}).items()
    ]
    known = {name for name, _, _ in fields} | {field for _, field, _ in fields} | {f"{n}.{f}" for n, f, _ in fields}
    unexplained = [
        f"{name}.{field}" for name, field, described in fields if not {"description", "$ref"} & described.keys()
    ]
    assert unexplained == []
    assert set(MEANINGS) <= known


def test_every_event_is_a_webhook_with_a_body_of_its_own(document: dict[str, Any]) -> None:
    assert set(document["webhooks"]) == set(CATALOGUE)
    mapping = document["components"]["schemas"]["Event"]["discriminator"]["mapping"]
    for type, path in document["webhooks"].items():
        body = path["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert body == {"$ref": mapping[type]}
        event = resolved(document, body)
        assert event["properties"]["type"]["enum"] == [type]
        record = resolved(document, event["properties"]["data"]["properties"]["object"])
        assert record["properties"]["object"]["enum"] == [type.partition(".")[0]]
        headers = {header["name"]: header["schema"]["pattern"] for header in path["post"]["parameters"]}
        assert set(headers) == {"webhook-id", "webhook-timestamp", "webhook-signature"}
        assert re.fullmatch(headers["webhook-id"], "evt_01kfjhr3c8e4bs0dz6wd5n5yry")
        assert re.fullmatch(headers["webhook-signature"], "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=")


def test_what_is_sent_fits_the_body_that_is_described(document: dict[str, Any]) -> None:
    bodies = json.loads(SAMPLES.read_text(encoding="utf-8"))
    assert set(bodies) == set(CATALOGUE)
    schema = {"$ref": "#/components/schemas/Event", "components": document["components"]}
    for body in bodies.values():
        jsonschema.validate(body, schema)


def test_a_request_requires_nothing_for_its_default_and_lets_what_is_optional_be_null(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    for name, schema in schemas.items():
        if name.endswith("Request"):
            for field, described in schema.get("properties", {}).items():
                assert "default" not in described, (name, field)
                if field not in schema.get("required", ()):
                    null = {**described, "components": document["components"]}
                    jsonschema.validate(None, null)


def test_wrong_methods_tags_and_the_licence_are_described(document: dict[str, Any]) -> None:
    for method, path, operation in operations(document):
        refused = resolved(document, operation["responses"]["405"])
        assert set(refused["headers"]) == {"X-Request-Id", "Allow"}, (method, path)
        assert set(operation["tags"]) <= {tag["name"] for tag in document["tags"]}
    assert all(tag["description"] for tag in document["tags"])
    assert document["info"]["license"] == {"name": "Apache License 2.0", "identifier": "Apache-2.0"}
    for header in document["components"]["headers"].values():
        assert "pattern" in header["schema"] or header["schema"]["type"] == "integer"
    assert "pattern" in document["components"]["schemas"]["NewPaymentRequest"]["properties"]["merchantWallet"]
