"""GET /requests: what is found, what is never shown, what of it is logged, and that an index serves it."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from config.database.months import months_of
from merchants.access.scopes import Scope
from merchants.models import Merchant
from merchants.request_log import viewsets
from merchants.request_log.models import LoggedRequest
from merchants.request_log.recording import RECORDER
from tests.factories import api_client, key_headers, make_key, make_merchant

pytestmark = pytest.mark.django_db


def listed(merchant: Merchant, query: str = "") -> dict[str, Any]:
    RECORDER.flush()
    reply = api_client(make_key(merchant, scopes=[Scope.REQUESTS_READ])).call("GET", f"/requests{query}")
    assert reply.status_code == 200, reply.content
    page: dict[str, Any] = reply.json()
    return page


def found(merchant: Merchant, query: str = "") -> list[str]:
    page = listed(merchant, query)
    assert page["totalCount"] == len(page["data"])
    return [f"{each['method']} {each['path'].removeprefix('/sandbox/v1')}" for each in page["data"]]


def test_each_filter_of_the_page_finds_its_own_and_nobody_elses() -> None:
    key = make_key()
    merchant = key.key.merchant
    other = make_key(merchant, scopes=[Scope.REFUNDS_READ])
    api_client(key).call("GET", "/balance")
    api_client(key).call("POST", "/payments", json_body={}, headers={**key_headers(key), "X-Request-Id": "shop-000001"})
    api_client(other).call("GET", "/payments")
    api_client(make_key()).call("GET", "/balance")
    RECORDER.flush()
    today = f"{LoggedRequest.objects.latest('pk').created_at:%Y-%m-%d}"
    one, refused, forbidden = "GET /balance", "POST /payments", "GET /payments"
    for query, expected in {
        "": [forbidden, refused, one],
        "?status=2xx": [one],
        "?status=4xx": [forbidden, refused],
        "?status=5xx": [],
        "?status=error": [forbidden, refused],
        "?method=POST": [refused],
        "?path=payments": [forbidden, refused],
        "?request_id=shop-000001": [refused],
        "?request_id=shop-00000": [],
        f"?key={other.key.public_key}": [forbidden],
        f"?created_gte={today}&created_lte={today}": [forbidden, refused, one],
        "?created_lte=2020-01-01": [],
        "?status=error&method=POST": [refused],
    }.items():
        assert found(merchant, query) == expected, query


def test_a_record_has_what_the_page_shows_and_no_body() -> None:
    key = make_key()
    headers = {**key_headers(key), "Idempotency-Key": "order 7", "X-Request-Id": "shop-000001"}
    made = api_client(key).call(
        "POST", "/webhooks", json_body={"url": "https://shop.example/hook"}, headers=headers, REMOTE_ADDR="192.0.2.7"
    )
    api_client(key).call("GET", "/payments?token=hush-hush")
    page = listed(key.key.merchant)
    refused, record = page["data"]
    row = LoggedRequest.objects.get(status=201)
    assert record.pop("createdAt")[:10] == f"{row.created_at:%Y-%m-%d}"
    assert record == {
        "id": row.public_id, "object": "request", "method": "POST", "path": "/sandbox/v1/webhooks", "query": "",
        "statusCode": 201, "errorCode": None, "requestId": "shop-000001", "idempotencyKey": "order 7",
        "publicKey": key.key.public_key, "ipAddress": "192.0.2.7", "durationMs": row.duration_milliseconds,
        "environment": "sandbox",
    }  # fmt: skip
    assert (refused["statusCode"], refused["errorCode"], refused["idempotencyKey"]) == (400, "unknown_parameter", None)
    for hidden in (made.json()["secret"], key.secret, "hush-hush", "shop.example"):
        assert hidden not in json.dumps(page)


@pytest.mark.parametrize(
    ("query", "param"),
    [("status=404", "status"), ("method=PUT", "method"), ("path=", "path"), ("outcome=4", "outcome")],
)
def test_a_filter_that_cannot_be_meant_is_refused(query: str, param: str) -> None:
    reply = api_client(make_key()).call("GET", f"/requests?{query}")
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, param)


def test_reading_the_log_is_logged_only_where_it_is_refused() -> None:
    key = make_key()
    without = make_key(key.key.merchant, scopes=[scope for scope in Scope if scope != Scope.REQUESTS_READ])
    for _ in range(3):
        assert api_client(key).call("GET", "/requests").status_code == 200
    api_client(key).call("GET", "/requests?outcome=4")
    assert api_client(without).call("GET", "/requests").json()["error"]["code"] == "insufficient_scope"
    RECORDER.flush()
    assert list(LoggedRequest.objects.order_by("pk").values_list("path", "status")) == [
        ("/sandbox/v1/requests", 400),
        ("/sandbox/v1/requests", 403),
    ]


def test_so_many_are_looked_through_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewsets, "MOST_LOOKED_THROUGH", 3)
    key = make_key()
    api_client(key).call("GET", "/balance")
    for _ in range(4):
        api_client(key).call("GET", "/payments")
    merchant = key.key.merchant
    page = listed(merchant)
    assert (len(page["data"]), page["totalCount"], page["hasMore"]) == (5, 3, False)
    assert found(merchant, "?path=balance") == []
    second_oldest = page["data"][3]["createdAt"]
    assert found(merchant, f"?path=balance&created_lte={second_oldest}") == ["GET /balance"]


# --- what a page reads -------------------------------------------------------------------------------

TABLE = LoggedRequest._meta.db_table
ROWS = 60_000
"""One of twenty is the merchant's own, and a fifth of those are errors."""
SINCE = (int(time.time()) - 3600) * 1000
"""An hour ago, in milliseconds."""
_FILL = """
    INSERT INTO request_log_loggedrequest (id, merchant_id, environment, public_key, request_id, method, path, query,
        idempotency_key, address, status, error_code, duration_milliseconds, body, body_bytes, reply, reply_bytes)
    SELECT (lpad(to_hex(%(since)s + n * 7), 12, '0') || '70008' || left(md5(n::text), 15))::uuid,
        CASE n %% 20 WHEN 0 THEN %(own)s ELSE %(other)s END::uuid, 'sandbox', 'pk_test_' || n %% 3, 'req_' || n,
        (ARRAY['GET', 'POST'])[1 + n / 20 %% 2], '/sandbox/v1/payments', '', '', NULL,
        CASE n %% 100 WHEN 0 THEN 404 ELSE 200 END, '', 3, repeat('x', 300), 300, repeat('y', 300), 300
    FROM generate_series(1, %(rows)s) AS n
"""
LIST, ERRORS, BY_ID = "request_list", "request_list_of_errors", "request_by_its_id"


@pytest.fixture
def filled(db: None) -> Merchant:
    merchant, other = make_merchant(), make_merchant()
    with connection.cursor() as cursor:
        # PostgreSQL walks through a partition that it knows to be empty, as it does where tests have analysed it.
        full, *others = months_of(TABLE)
        cursor.execute(f"DROP TABLE {', '.join(each.name for each in others)}")
        cursor.execute(f"CREATE TABLE {TABLE}_rest PARTITION OF {TABLE} DEFAULT")
        cursor.execute(_FILL, {"own": merchant.pk, "other": other.pk, "rows": ROWS, "since": SINCE})
        cursor.execute(f"ANALYZE {full.name}")
    return merchant


def test_an_index_serves_every_page(filled: Merchant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewsets, "MOST_LOOKED_THROUGH", 500)
    client = api_client(make_key(filled))
    cursor_of_a_page = client.call("GET", "/requests?limit=100").json()["data"][-1]["id"]
    for query, (index, statements) in {
        "": (LIST, 2),
        f"starting_after={cursor_of_a_page}": (LIST, 3),
        f"created_gte={datetime.fromtimestamp(SINCE // 1000, UTC):%FT%TZ}": (LIST, 2),
        "status=error": (ERRORS, 2),
        "status=4xx": (ERRORS, 2),
        "status=5xx": (ERRORS, 2),
        "request_id=req_2000": (BY_ID, 2),
        "path=nowhere": (LIST, 3),
        "method=POST": (LIST, 3),
        "key=pk_test_1&status=2xx": (LIST, 3),
        "status=4xx&path=payments": (ERRORS, 3),
    }.items():
        with CaptureQueriesContext(connection) as queries:
            assert client.call("GET", f"/requests?limit=100&{query}").status_code == 200
        read = [each["sql"] for each in queries if "request_log_loggedrequest" in each["sql"]]
        assert len(read) == statements, query
        for statement in read:
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN {statement}")
                plan = "\n".join(line for (line,) in cursor.fetchall())
                cursor.execute(
                    "SELECT relname FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE inhparent = %s::regclass",
                    [index],
                )
                of_months = [name for (name,) in cursor.fetchall()]
            assert "Seq Scan" not in plan, (query, plan)
            is_cursor = '"id" = ' in statement
            assert is_cursor or any(f" {name} " in plan for name in of_months), (query, plan)
            assert index == BY_ID or "Sort  (" not in plan, (query, plan)
