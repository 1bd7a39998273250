"""Versions of the API by header, and what a deprecated operation says: headers, document and reference."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime

import pytest
from drf_spectacular.generators import SchemaGenerator

from config.api import versions
from config.api.reference.document import read_reference
from config.api.renderers import render_json
from config.api.versions import HEADER, VERSIONS, Deprecation
from payments.models import Payment
from tests.factories import api_client, make_key

ROW = Deprecation("balance_retrieve", date(2027, 3, 1), date(2029, 3, 1), "use `GET /merchant`.")


@pytest.mark.django_db
@pytest.mark.parametrize("given", [None, *map(str, VERSIONS), f" {VERSIONS[0]} "])
def test_a_reply_names_the_version_that_replied(given: str | None) -> None:
    reply = api_client(make_key()).call("GET", "/balance", headers={HEADER: given} if given else {})
    assert (reply.status_code, reply.headers[HEADER]) == (200, str(VERSIONS[0]))
    assert {"Deprecation", "Sunset", "Link"} & reply.headers.keys() == set()
    missing = api_client(make_key()).call("GET", "/payments/pay_none", headers={HEADER: given} if given else {})
    assert (missing.status_code, missing.headers[HEADER]) == (404, str(VERSIONS[0]))


@pytest.mark.django_db
@pytest.mark.parametrize("given", ["2026-11-28", "2026-13-45", "v1", "", f"{VERSIONS[0]}, {VERSIONS[0]}", "٢٠٢٦-١١-٢٩"])
def test_a_version_that_is_none_is_refused_and_nothing_is_done(given: str) -> None:
    body = {"amount": 25, "currency": "EUR"}
    reply = api_client(make_key()).call("POST", "/payments", json_body=body, headers={HEADER: given})
    error = reply.json()["error"]
    assert (reply.status_code, error["code"], error["param"]) == (400, "unknown_version", HEADER)
    assert error["message"].startswith(f"{HEADER}: there is no version ")
    assert error["message"].endswith(f". Send {VERSIONS[0]}, or leave the header out.")
    assert HEADER not in reply.headers
    assert not Payment.objects.exists()


def test_the_versions_are_in_order_and_none_is_ahead_of_its_release() -> None:
    assert sorted(set(VERSIONS)) == list(VERSIONS)


@pytest.mark.django_db
def test_a_deprecated_operation_says_so_in_its_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "DEPRECATIONS", (ROW,))
    reply = api_client(make_key()).call("GET", "/balance")
    assert reply.status_code == 200
    since = int(datetime(2027, 3, 1, tzinfo=UTC).timestamp())
    assert reply.headers["Deprecation"] == f"@{since}"
    assert reply.headers["Sunset"] == "Thu, 01 Mar 2029 00:00:00 GMT"
    page = reply.headers["Link"].removesuffix('; rel="deprecation"; type="text/html"')
    assert page.endswith("/docs/api/balance#balance_retrieve>")
    assert "Deprecation" not in api_client(make_key()).call("GET", "/payments").headers


def test_document_and_reference_say_that_an_operation_is_deprecated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "DEPRECATIONS", (ROW,))
    schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    document = json.loads(render_json(schema))
    marked = {
        operation["operationId"]
        for methods in document["paths"].values()
        for operation in methods.values()
        if operation.get("deprecated")
    }
    assert marked == {ROW.operation}
    read = read_reference(document, public_url="https://pay.example", home="/docs/api")
    (operation,) = next(each.operations for each in read.resources if each.slug == "balance")
    assert operation.scope == "merchant:read"
    assert operation.description.startswith(
        "Deprecated since 2027-03-01 and ends on 2029-03-01: use <code>GET /merchant</code>."
    )


def test_a_row_names_an_operation_that_there_is_and_leaves_clients_their_time() -> None:
    document = json.loads(render_json(SchemaGenerator().get_schema(request=None, public=True)))  # type: ignore[no-untyped-call]
    known = {each["operationId"] for methods in document["paths"].values() for each in methods.values()}
    for row in (*versions.DEPRECATIONS, ROW):
        assert row.operation in known
        assert row.ends is None or (row.ends - row.since).days >= 365
