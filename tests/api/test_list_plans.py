"""What a page of a list reads does not grow with the list: no query walks through a filled table or counts all of it.

The rows that each step of a plan has met are counted, filtered ones too, instead of looking for names of steps: an
index that is walked from end to end is as dear as a table.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Sequence
from itertools import count

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings

from config.database import prepared
from payments.record_rows import payment_row
from tests.bench.million import Fill
from tests.dashboard.addresses import make_records
from tests.factories import ApiClient, api_client, make_key, make_merchant
from webhooks import viewsets

FILLED, MOST = 2_000, 200
"""Payments of the merchant, and the rows that a step may meet for a page of ten."""

COUNTERS = {"merchants_recordcount", "merchants_recordcountdelta"}
"""Their rows grow with days, and not with records."""

ADDRESSES = (
    "/payments",
    "/payments?status=cancelled",
    "/payments?status=refunded",
    "/payments?created_gte=2199-01-01",
    "/payments?metadata[order]=order-777",
    "/refunds",
    "/refunds?status=completed",
    "/settlements",
    "/settlements?status=failed",
    "/events",
    "/events?type=payment.created",
    "/deliveries",
    "/deliveries?status=delivered",
    "/deliveries?endpoint={webhook}",
)


@pytest.mark.django_db
def test_a_page_of_a_list_meets_few_rows(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.SIMULATED_BLOCK_SECONDS = 0
    monkeypatch.setattr(viewsets, "MOST_COUNTED", MOST // 4)
    merchant = make_merchant()
    records = make_records(merchant)
    Fill(merchant, records, FILLED).write()
    client = api_client(make_key(merchant))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        assert {path: found for path in ADDRESSES if (found := dear(client, records.in_path(path)))} == {}
        assert met("SELECT COUNT(*) FROM webhooks_event")  # what a count of all would be found by
        cursor.execute("DROP INDEX payment_list_by_status, payment_groups")
    assert dear(client, "/payments?status=refunded")


@pytest.mark.django_db
def test_a_payment_is_read_by_its_key_even_by_a_plan_of_an_empty_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a plan is kept until the table is analysed, while payments come in."""
    asked: list[str] = []

    def note(sql: str, parameters: Sequence[object], **_: object) -> list[object]:
        asked.append(sql)
        return []

    monkeypatch.setattr(prepared, "rows", note)
    payment_row(make_merchant(), "sandbox", uuid.uuid4())
    numbers = count(1)
    with connection.cursor() as cursor:
        cursor.execute("SET plan_cache_mode = force_generic_plan")
        cursor.execute(f"PREPARE one (uuid, uuid, text) AS {re.sub('%s', lambda _: f'${next(numbers)}', asked[0])}")
        cursor.execute("EXPLAIN EXECUTE one (gen_random_uuid(), gen_random_uuid(), 'sandbox')")
        assert "Index Scan using payments_payment_pkey" in str(cursor.fetchall())


def dear(client: ApiClient, address: str) -> list[str]:
    """The steps of a list's queries that meet more than a few rows."""
    with CaptureQueriesContext(connection) as captured:
        assert client.call("GET", address).status_code == 200
    return [step for query in captured if query["sql"].startswith("SELECT") for step in met(query["sql"])]


def met(sql: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}")
        [[[found]]] = cursor.fetchall()
    return [*_steps(found["Plan"])]


def _steps(step: dict) -> Iterator[str]:  # type: ignore[type-arg]
    for each in step.get("Plans", ()):
        yield from _steps(each)
    removed = sum(step.get(f"Rows Removed by {why}", 0) for why in ("Filter", "Index Recheck"))
    rows = round((step["Actual Rows"] + removed) * step["Actual Loops"])
    table = step.get("Relation Name", "")
    if rows > MOST and table not in COUNTERS and "count_once_per_day" not in step.get("Index Name", ""):
        yield f"{step['Node Type']} {table} {step.get('Index Name', '')}: {rows} rows"
