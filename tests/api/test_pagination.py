"""A list is cut into pages by the id of the last record seen, newest first, and filters by time are exact."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import Q
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from config import ids
from config.api.fields import read_query
from config.api.pagination import CreatedListQuery, KeyRange, page
from config.errors import InvalidParameter
from tests.api.probe import Probe, probe_table

MERCHANT, OTHER = uuid.UUID(int=1), uuid.UUID(int=2)
START = datetime(2027, 1, 30, 22, 0, tzinfo=UTC)
PROBE_ID = ids.PublicId("pay", "payment")


@pytest.fixture
def probes(db: None) -> Iterator[list[Probe]]:
    """25 records, six minutes apart, across midnight; the newest first."""
    with probe_table():
        made = [
            Probe(
                id=ids.new_uuid(int((START + timedelta(minutes=6 * number)).timestamp() * 1000)),
                merchant_id=MERCHANT,
                environment="sandbox",
                status="created" if number % 3 else "completed",
            )
            for number in range(25)
        ]
        random.Random(1).shuffle(made)
        Probe.objects.bulk_create(made)
        Probe.objects.create(merchant_id=OTHER, environment="sandbox", status="created")
        Probe.objects.create(merchant_id=MERCHANT, environment="production", status="created")
        yield sorted(made, key=lambda probe: probe.id, reverse=True)


def own() -> Any:
    return Probe.objects.filter(merchant_id=MERCHANT, environment="sandbox")


def ask(text: str = "", narrow: Q | None = None) -> dict[str, Any]:
    query = read_query(CreatedListQuery, Request(APIRequestFactory().get(f"/payments?{text}")))
    return page(
        own(),
        query,
        public_id=PROBE_ID,
        render=lambda probe: PROBE_ID.encode(probe.id),
        total=lambda keys: own().filter(keys.condition).filter(narrow or Q()).count(),
        narrow=narrow,
    )


def names(probes: list[Probe]) -> list[str]:
    return [PROBE_ID.encode(probe.id) for probe in probes]


def test_the_first_page_has_the_ten_newest(probes: list[Probe]) -> None:
    assert ask() == {"object": "list", "data": names(probes[:10]), "hasMore": True, "totalCount": 25}


@pytest.mark.parametrize("limit", [1, 7, 24, 25, 26, 100])
def test_pages_follow_each_other_without_gap_or_repeat(probes: list[Probe], limit: int) -> None:
    seen: list[str] = []
    while True:
        found = ask(f"limit={limit}" + (f"&starting_after={seen[-1]}" if seen else ""))
        seen += found["data"]
        assert found["totalCount"] == 25
        assert found["hasMore"] is (len(seen) < 25)
        if not found["hasMore"]:
            break
        assert len(found["data"]) == limit
    assert seen == names(probes)


def test_after_the_last_record_comes_an_empty_page(probes: list[Probe]) -> None:
    found = ask(f"starting_after={names(probes)[-1]}")
    assert (found["data"], found["hasMore"], found["totalCount"]) == ([], False, 25)


def test_a_cursor_need_not_match_the_filters(probes: list[Probe]) -> None:
    cursor = next(probe for probe in probes if probe.status == "created")
    found = ask(f"starting_after={PROBE_ID.encode(cursor.id)}&limit=100", Q(status="completed"))
    assert found["data"] == names([probe for probe in probes if probe.status == "completed" and probe.id < cursor.id])
    assert found["totalCount"] == 9


def test_a_strangers_record_and_none_at_all_are_refused_alike(probes: list[Probe]) -> None:
    foreign = [
        *Probe.objects.exclude(merchant_id=MERCHANT).values_list("id", flat=True),
        *Probe.objects.filter(environment="production").values_list("id", flat=True),
        ids.new_uuid(),
    ]
    messages = set()
    for key in foreign:
        with pytest.raises(InvalidParameter) as refused:
            ask(f"starting_after={PROBE_ID.encode(key)}")
        assert refused.value.param == "starting_after"
        messages.add(refused.value.message)
    assert len(messages) == 1


@pytest.mark.parametrize("limit", ["0", "101", "-1", "ten", "", "1.0"])
def test_a_limit_outside_one_to_a_hundred_is_refused(probes: list[Probe], limit: str) -> None:
    with pytest.raises(ValidationError):
        ask(f"limit={limit}")


def test_a_span_of_time_includes_both_its_ends(probes: list[Probe]) -> None:
    first, last = ids.created_at_of(probes[-1].id), ids.created_at_of(probes[0].id)
    stamp = "%Y-%m-%dT%H:%M:%S.%fZ"
    assert ask(f"created_gte={first:{stamp}}&created_lte={last:{stamp}}")["totalCount"] == 25
    later, earlier = first + timedelta(milliseconds=1), last - timedelta(milliseconds=1)
    assert ask(f"created_gte={later:{stamp}}&created_lte={earlier:{stamp}}")["totalCount"] == 23
    assert ask(f"created_gte={first:{stamp}}&created_lte={first:{stamp}}")["data"] == names(probes[-1:])


def test_a_date_covers_its_whole_day(probes: list[Probe]) -> None:
    on_the_30th = [probe for probe in probes if ids.created_at_of(probe.id).day == 30]
    assert 0 < len(on_the_30th) < 25
    assert ask("created_gte=2027-01-30&created_lte=2027-01-30&limit=100")["data"] == names(on_the_30th)
    assert ask("created_gte=2027-01-31")["totalCount"] == 25 - len(on_the_30th)


def test_a_span_that_ends_before_it_begins_is_empty_without_asking(probes: list[Probe]) -> None:
    with CaptureQueriesContext(
        connection,
    ) as queries:
        found = ask("created_gte=2027-02-01&created_lte=2027-01-01")
    assert found == {"object": "list", "data": [], "hasMore": False, "totalCount": 0}
    assert len(queries) == 0


def test_a_page_is_one_statement_besides_its_total_and_its_cursor(probes: list[Probe]) -> None:
    with CaptureQueriesContext(connection) as queries:
        ask(f"starting_after={names(probes)[3]}")
    cursor, rows, _ = [each["sql"] for each in queries]
    assert "LIMIT 1" in cursor
    assert rows.endswith('ORDER BY "probe_probe"."id" DESC LIMIT 11')
    assert "OFFSET" not in rows
    assert " OR " not in rows


instants = st.datetimes(
    min_value=datetime(1970, 1, 1),  # noqa: DTZ001 - hypothesis wants the bounds without a zone
    max_value=datetime(9998, 12, 30),  # noqa: DTZ001
    timezones=st.just(UTC),
)


@given(instants, st.none() | instants, st.none() | instants)
def test_a_range_of_keys_holds_what_was_made_between_both_instants(
    made: datetime, gte: datetime | None, lte: datetime | None
) -> None:
    key = ids.new_uuid((made - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1))
    keys = KeyRange.between(gte, lte)
    created = ids.created_at_of(key)
    expected = (gte is None or created >= gte) and (lte is None or created <= lte)
    assert ((keys.first is None or key >= keys.first) and (keys.end is None or key < keys.end)) is expected
    assert not (expected and keys.is_empty)
