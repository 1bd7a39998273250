"""The log of requests is kept by the month: an old table becomes one of months as it is, and what is old is dropped."""
# ruff: noqa: S608 - names of our own tables

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from threading import Event, Thread, Timer
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import ProgrammingError, connection, connections
from django.utils import timezone

from config import ids
from config.database.months import month_start, months_of
from config.installation.database_roles import WORKER
from config.installation.migration_locks import sizes_of
from merchants.models import Merchant
from merchants.request_log import recording
from merchants.request_log.models import LoggedRequest
from merchants.request_log.purging import purge
from tests.deletes import deletes
from tests.factories import api_client, make_key, make_merchant
from tests.patience import until, waits_for_lock
from tests.request_log.test_recording import entry

pytestmark = pytest.mark.django_db(transaction=True)

TABLE = LoggedRequest._meta.db_table
NOW = timezone.now()
"""Read once: a month may end while these run."""


def migrate(to: str) -> None:
    call_command("migrate", "request_log", to, verbosity=0)


@pytest.fixture
def as_before() -> Iterator[None]:
    """The table as an installation of the release before has it, its owner the one of everything there."""
    migrate("zero")
    migrate("0001")
    [(owner,)] = ask("SELECT proowner::regrole::text FROM pg_proc WHERE proname = 'make_months'")
    ask(f"ALTER TABLE {TABLE} OWNER TO {owner}")
    yield
    migrate("zero")
    migrate("0002")


@pytest.fixture
def as_now(as_before: None) -> None:
    migrate("0002")


def ask(sql: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall() if cursor.description else []


def rows_made(merchant: Merchant, *days_ago: int) -> None:
    instants = [ids.first_uuid_at(NOW - timedelta(days=days)).int >> 80 for days in days_ago]
    recording.write([entry(merchant)._replace(id=ids.new_uuid(instant)) for instant in instants])


def places() -> list[str]:
    """Partitions of the rows, oldest row first, without the table's name."""
    return [
        name.removeprefix(f"{TABLE}_") for (name,) in ask(f"SELECT tableoid::regclass::text FROM {TABLE} ORDER BY id")
    ]


def test_a_table_in_use_becomes_one_of_months_with_its_rows_indexes_and_rights(as_before: None) -> None:
    def shape() -> Any:
        with connection.cursor() as cursor:
            return (
                connection.introspection.get_constraints(cursor, TABLE),
                connection.introspection.get_table_description(cursor, TABLE),
                ask(f"SELECT relacl::text FROM pg_class WHERE relname = '{TABLE}'"),
            )

    key = make_key()
    merchant = key.key.merchant
    ask(f"GRANT SELECT ON {TABLE} TO pg_monitor")
    rows_made(merchant, *range(29), 300)
    before, written, is_over = shape(), list[uuid.UUID](), Event()

    def keep_writing() -> None:
        while not is_over.is_set():
            made = entry(merchant)
            recording.write([made])
            written.append(made.id)
        connections.close_all()

    reader = connections["default"].copy()
    reader.set_autocommit(False)
    reader.cursor().execute(f"SELECT count(*) FROM {TABLE}")  # as a page that is being made: its lock is waited for
    writer, ends = Thread(target=keep_writing), Timer(1.5, reader.connection.close)
    writer.start()
    ends.start()
    try:
        migrate("0002")
        until(lambda: len(written) > 20)
    finally:
        is_over.set()
        writer.join()
        ends.join()
    assert shape() == before
    there = set(LoggedRequest.objects.values_list("pk", flat=True))
    assert (there >= {*written}, len(there)) == (True, 30 + len(written))
    assert {place[:2] for place in places()} == {"20"}
    listed = api_client(key).call("GET", "/requests?limit=100&path=payments").json()
    assert [each["id"] for each in listed["data"]] == sorted((each["id"] for each in listed["data"]), reverse=True)
    assert len(listed["data"]) == min(100, 29 + len(written))  # the one of 300 days ago is not shown
    assert sizes_of([TABLE])[TABLE][0] == sum(month.size for month in months_of(TABLE))
    migrate("0001")
    migrate("0002")
    assert shape() == before


def test_a_month_is_dropped_by_a_worker_once_all_of_it_is_too_old_and_shown_to_nobody_before(
    as_now: None, caplog: pytest.LogCaptureFixture
) -> None:
    call_command("database_roles", stdout=StringIO())
    merchant = make_merchant()
    rows_made(merchant, 0, 29, 31)
    own = LoggedRequest.objects.of(merchant, "sandbox")
    assert (own.count(), LoggedRequest.objects.count()) == (2, 3)
    first = months_of(TABLE)[0]
    assert first.until is not None
    ask(f"SET SESSION AUTHORIZATION {WORKER}")
    try:
        with deletes() as deleted:
            for days, left in ((29, 3), (30, 0)):
                assert purge(now=first.until + timedelta(days=days)) == 0
                assert LoggedRequest.objects.count() == left
        with pytest.raises(ProgrammingError, match="is no month of a table from which ballast_worker may delete"):
            ask("SELECT drop_month('ledger_entry')")
    finally:
        ask("RESET SESSION AUTHORIZATION")
    assert deleted == []
    assert first.name not in {month.name for month in months_of(TABLE)}


def test_what_no_month_was_made_for_is_kept_in_the_rest_and_moved_by_the_next_run(as_now: None) -> None:
    for month in months_of(TABLE):
        if month.until:
            out = StringIO()
            call_command("partitions", detach=month.name, stdout=out)
            assert month.name not in out.getvalue()
            ask(f"DROP TABLE {month.name}")
    rows_made(make_merchant(), 0, 70)
    assert places() == ["rest", "rest"]
    assert purge(now=NOW) == 1
    assert places() == [f"{NOW:%Y_%m}"]
    assert [month.until for month in months_of(TABLE)][1:] == [month_start(NOW + timedelta(days=62)), None]
    with pytest.raises(CommandError, match="is no month"):
        call_command("partitions", detach=f"{TABLE}_rest")


def test_a_table_that_is_being_read_is_left_for_the_next_time(as_now: None, caplog: pytest.LogCaptureFixture) -> None:
    rows_made(make_merchant(), 0)
    reader = connections["default"].copy()
    reader.set_autocommit(False)
    try:
        reader.cursor().execute(f"SELECT count(*) FROM {TABLE}")
        assert purge(now=NOW + timedelta(days=100)) == 0
    finally:
        reader.close()
    assert "months_left_as_they_are" in caplog.text
    assert LoggedRequest.objects.count() == 1
    purge(now=NOW + timedelta(days=100))
    assert LoggedRequest.objects.count() == 0


def test_who_writes_while_a_month_is_made_waits_for_it(as_now: None) -> None:
    merchant = make_merchant()
    ask(f"DROP TABLE {', '.join(month.name for month in months_of(TABLE) if month.until)}")
    maker = connections["default"].copy()
    maker.set_autocommit(False)

    def write() -> None:
        recording.write([entry(merchant)])
        connections.close_all()

    writer = Thread(target=write)
    try:
        maker.cursor().execute("SELECT make_months(%s)", [TABLE])
        writer.start()
        until(waits_for_lock)
        maker.commit()
    finally:
        maker.close()
        writer.join()
    assert places() == [f"{NOW:%Y_%m}"]


def test_who_may_not_write_makes_no_month(as_now: None) -> None:
    ask("CREATE ROLE may_nothing")
    ask("SET SESSION AUTHORIZATION may_nothing")
    try:
        with pytest.raises(ProgrammingError, match="returned no rows"):
            ask(f"SELECT make_months('{TABLE}')")
    finally:
        ask("RESET SESSION AUTHORIZATION; DROP ROLE may_nothing")
