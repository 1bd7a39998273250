"""What a page of a list reads does not grow with the list: no query walks through a filled table or counts all of it.

The rows that each step of a plan has met are counted, filtered ones too, instead of looking for names of steps: an
index that is walked from end to end is as dear as a table.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import combinations, count, permutations
from typing import Any

import pytest
from django.db import connection
from django.db.models import Count, Model
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings

from config import ids
from config.admin.columns import CountedInPart
from config.database import prepared
from config.database.sessions import new_session
from payments.models import Payment
from payments.record_rows import page_rows, payment_row
from tests.bench.million import Fill
from tests.dashboard.addresses import Records, make_records
from tests.dashboard.conftest import browser_of
from tests.exports.copying import copies_of
from tests.factories import api_client, make_key, make_member, make_merchant, make_user
from tests.list_addresses import of_the_admin, of_the_api, of_the_dashboard
from tests.payments.linking import begin, make_link
from tests.payments.scenes import make_payment
from webhooks import viewsets

SMALL, FILLED, MOST = 60, 2_000, 200
"""Payments of the merchant, and the rows that a step may meet for a page."""

COUNTERS = {
    *("merchants_recordcount", "merchants_recordcountdelta", "count_once_per_day"),
    *("payments_turnover", "turnover_once", "ledger_daysum", "day_sum_once"),
}
"""Tables whose rows grow with days, and not with records, and their indexes."""

MEET_MORE = {
    "/payments?amount": "its exact total is counted",
    "/payments?paymentLink": "its exact total is counted",
    "/dashboard/first-steps": "looks through the newest 500 deliveries",
    "/dashboard/payments?q=": "looks through a span of payments, 2,000 of which are one",
    "/dashboard/settlements": "adds up what is not settled yet",
    "/dashboard/statements/month": "shows 400 entries",
    "/dashboard/wallets/lost": "adds up what is not settled yet",
    "/admin/ledger.account?": "no index of all merchants has its filters",
    "/admin/payments.balancechange?": "no index of all merchants has its filters",
    "/admin/payments.deposit?": "no index of all merchants has its filters",
    "/admin/payments.payment?status": "no index of all merchants has its filters",
}
"""Beginnings of addresses, and why their pages do. Operators' lists read past what does not match a filter, with a
million payments in 54 to 195 ms of the processor."""


def may_meet_more(address: str) -> bool:
    return any(address.startswith(each) for each in MEET_MORE)


def vacuum() -> None:
    """Take away the rows that other tests rolled back: a scan of an index meets them as well. First in a test."""
    with closing(new_session()) as session, session.cursor() as cursor:
        cursor.execute("VACUUM")


@pytest.fixture
def records(db: None, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Records:
    """Of a merchant with many; totals end before they meet too many rows."""
    vacuum()
    settings.SIMULATED_BLOCK_SECONDS, settings.SANDBOX_REQUESTS_PER_MINUTE = 0, 10_000
    monkeypatch.setattr(viewsets, "MOST_COUNTED", MOST // 4)
    monkeypatch.setattr(CountedInPart, "most_counted", MOST // 4)
    merchant = make_merchant()
    records = make_records(merchant)
    Fill(merchant, records, FILLED).write()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return records


def test_a_page_of_a_list_meets_few_rows(records: Records) -> None:
    merchant, plans = records.payment.merchant, Plans()
    api, browser = api_client(make_key(merchant)), browser_of(make_member(merchant))
    found: dict[str, list[str]] = {}

    def read(address: str, ask: Callable[[], Any]) -> Any:
        reply, found[address] = plans.of(ask)
        return reply

    for address in of_the_api():
        read(address, partial(api.call, "GET", records.in_path(address)))
    of_the_dashboard(lambda address: read(address, partial(browser.get, records.in_path(address))))
    operator = make_user(is_staff=True, is_superuser=True)
    of_the_admin(read, operator, rows=MOST // 8, is_long=is_long)
    assert len(found) > 300
    dear = {address: steps for address, steps in found.items() if steps}
    assert {address: steps for address, steps in dear.items() if not may_meet_more(address)} == {}
    with connection.cursor() as cursor:
        assert met("SELECT COUNT(*) FROM webhooks_event")  # what a count of all would be found by
        cursor.execute("DROP INDEX payment_list_by_status, payment_groups, delivery_that_failed, delivery_of")
    for path in ("/payments?status=refunded", "/deliveries?status=failed"):
        assert Plans().of(partial(api.call, "GET", path))[1], path


@pytest.mark.django_db
def test_what_a_request_reads_meets_few_rows_whatever_the_table_held_when_it_was_planned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A plan that is kept was made of any table: of a small one it would read all. One that is made each time knows
    that nearly all payments are one merchant's, and not that others' are newer."""
    vacuum()
    asked: list[tuple[str, Sequence[Any]]] = []
    kept: list[bool] = []

    def note(sql: str, parameters: Sequence[Any], *, is_planned_once: bool = True, **_: object) -> list[object]:
        kept.append(is_planned_once)
        asked.append((sql, parameters))
        return []

    merchant, other = make_merchant(), make_merchant()
    own = Payment.objects.of(merchant, "sandbox")
    with monkeypatch.context() as patched:
        patched.setattr(prepared, "rows", note)
        payment_row(merchant, "sandbox", uuid.uuid4())
        page_rows(own.order_by("-pk")[:11])
        page_rows(own.filter(pk__gt=uuid.uuid4()).order_by("pk")[:11])
        page_rows(own.filter(status="created", pk__lt=ids.LAST_KEY).order_by("-pk")[:11])
        page_rows(own.filter(pk__lt=uuid.uuid4(), pk__gte=ids.FIRST_KEY).order_by("-pk")[:11])
    with connection.cursor() as cursor:

        def explained(number: int, how: str) -> Any:
            parameters = asked[number][1]
            values = ", ".join(["%s"] * len(parameters))
            cursor.execute(f"EXPLAIN ({how}) EXECUTE asked{number} ({values})", parameters)
            return cursor.fetchall()

        copies_of(make_payment(merchant=merchant), SMALL)
        cursor.execute("ANALYZE payments_payment")
        for number, (sql, _) in enumerate(asked):
            places = count(1)
            cursor.execute(f"PREPARE asked{number} AS {re.sub('%s', lambda _: f'${next(places)}', sql)}")  # noqa: B023
        cursor.execute("SET plan_cache_mode = force_generic_plan")
        # Of lists such a plan reads all, unless other tests have left the table many empty pages.
        assert kept == [True, *[False] * (len(asked) - 1)]
        assert "Seq Scan on payments_payment'" not in str(explained(0, "COSTS OFF"))
        cursor.execute("SET plan_cache_mode = force_custom_plan")
        copies_of(make_payment(merchant=merchant), FILLED)
        copies_of(make_payment(merchant=other), 2 * MOST)
        for change in ("SELECT", "ANALYZE payments_payment"):
            cursor.execute(change)
            for number in range(len(asked)):
                [[[found]]] = explained(number, "ANALYZE, TIMING OFF, FORMAT JSON")
                assert [*_steps(found["Plan"])] == [], (number, change)


@pytest.mark.django_db
def test_a_page_is_between_the_closest_of_its_bounds_in_whatever_order_they_come() -> None:
    merchant = make_merchant()
    keys = [make_payment(merchant=merchant).pk for _ in range(5)]
    own = Payment.objects.of(merchant, "sandbox")
    limits = (("gt", keys[0]), ("gte", keys[0]), ("lt", keys[4]), ("lte", keys[4]), ("lt", keys[3]))
    for bounds in permutations(limits, 4):
        page = own.order_by("-pk")
        for how, key in bounds:
            page = page.filter(**{f"pk__{how}": key})
        assert [row.id for row in page_rows(page[:11])] == list(page.values_list("pk", flat=True)), bounds


@pytest.mark.django_db
def test_two_filters_are_counted_from_an_index_alone() -> None:
    """The indexes of groups and of a link's payments hold each column that two filters ask for, but metadata."""
    merchant = make_merchant()
    link = make_link(merchant)
    for payment in (begin(link), make_payment(merchant=merchant)):
        Payment.objects.filter(pk=payment.pk).update(status="completed")
        copies_of(payment, FILLED)
    filters: dict[str, dict[str, Any]] = {
        "status": {"status": "completed"}, "network": {"network": "ethereum"}, "coin": {"cryptocurrency": "USDC"},
        "price": {"currency": "USD", "fiat_amount__gte": 1}, "link": {"payment_link": link},
    }  # fmt: skip
    with connection.cursor() as cursor:
        others = {index.name for index in Payment._meta.indexes} - {"payment_groups", "payment_of_link_by_status"}
        cursor.execute(f"DROP INDEX {', '.join(others)}")  # until a VACUUM no index is known to do without the rows
        cursor.execute("ANALYZE payments_payment; SET enable_seqscan = off; SET enable_bitmapscan = off")
    for one, other in combinations(filters, 2):
        found = Payment.objects.of(merchant, "sandbox").filter(**filters[one], **filters[other])
        plan = found.order_by().values("environment").annotate(number=Count("pk")).explain()
        assert "Index Only Scan" in plan, (one, other, plan)


def is_long(model: type[Model]) -> bool:
    return model._default_manager.order_by("pk")[: MOST + 1].count() > MOST


class Plans:
    """Plans of statements, each made once."""

    def __init__(self) -> None:
        self._known: dict[str, list[str]] = {}

    def of(self, ask: Callable[[], Any]) -> tuple[Any, list[str]]:
        """What is asked for, and the steps of its statements that meet more than a few rows."""
        with CaptureQueriesContext(connection) as captured:
            reply = ask()
        assert getattr(reply, "status_code", 200) in (200, 302)
        asked = [query["sql"] for query in captured if query["sql"].lstrip().startswith(("SELECT", "WITH", "("))]
        for sql in asked:
            if sql not in self._known:
                self._known[sql] = met(sql)
        return reply, [step for sql in asked for step in self._known[sql]]


def met(sql: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off")  # as if large
        cursor.execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {sql}")
        [[[found]]] = cursor.fetchall()
        cursor.execute("RESET enable_seqscan; RESET enable_hashjoin; RESET enable_mergejoin")
    return [*_steps(found["Plan"])]


def _steps(step: dict) -> Iterator[str]:  # type: ignore[type-arg]
    for each in step.get("Plans", ()):
        yield from _steps(each)
    removed = sum(step.get(f"Rows Removed by {why}", 0) for why in ("Filter", "Index Recheck"))
    index, table = step.get("Index Name", ""), step.get("Relation Name", "")
    times = 1 if index == "payment_groups" else step["Actual Loops"]  # of groups there are as many as values
    rows = round((step["Actual Rows"] + removed) * times)
    if (index or table) and rows > MOST and not {table, index} & COUNTERS:
        yield f"{step['Node Type']} {table} {index}: {rows} rows"
