"""Statements that are planned once for each connection, and connections that are checked without a round trip."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.db.backends.postgresql import base
from django.db.models import QuerySet
from django.db.utils import DataError, NotSupportedError

from config import ids
from config.database import prepared
from payments.chains.simulated import control
from payments.deposits.models import ScanCursor
from payments.models import Payment
from tests.networks import ETHEREUM
from tests.payments.scenes import BLOCKS_UNTIL_FINAL, make_payment, pay, watch

pytestmark = pytest.mark.django_db(transaction=True)

READ = "SELECT number, word FROM prepared_probe WHERE number >= %s ORDER BY number"


@pytest.fixture
def table() -> Any:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE prepared_probe (number numeric(78, 0), word varchar(5))")
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE prepared_probe")


def plans() -> int:
    assert connection.connection is not None
    return int(connection.connection.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()[0])


@pytest.mark.usefixtures("table")
def test_numbers_of_any_size_share_one_plan() -> None:
    connection.close()
    numbers = [0, 1, 2**15, 2**31, 2**63, 2**255]
    for number in numbers:
        prepared.execute("INSERT INTO prepared_probe VALUES (%s, %s)", [number, "%s $1"])
    assert plans() == 1
    assert prepared.rows(READ, [1]) == [(number, "%s $1") for number in numbers[1:]]


@pytest.mark.usefixtures("table")
def test_an_upgrade_below_a_plan_is_not_noticed() -> None:
    prepared.execute("INSERT INTO prepared_probe VALUES (%s, %s)", [1, "a"])
    assert prepared.rows(READ, [1]) == [(1, "a")]
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE prepared_probe ALTER word TYPE varchar(50)")
    assert prepared.rows(READ, [1]) == [(1, "a")]


@pytest.mark.usefixtures("table")
def test_errors_are_djangos_and_a_broken_transaction_takes_no_more() -> None:
    with pytest.raises(DataError):
        prepared.execute("INSERT INTO prepared_probe VALUES (%s, %s)", [1, "too long"])
    with transaction.atomic():
        transaction.set_rollback(True)
        with pytest.raises(transaction.TransactionManagementError):
            prepared.rows(READ, [1])


@pytest.mark.usefixtures("table")
def test_what_is_repeated_is_planned_once_and_only_inside() -> None:
    connection.close()
    for _ in range(7):
        with prepared.repeated(), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(READ, [1])
    assert plans() == 1
    other = connection.copy()
    with other.cursor() as cursor:  # an upgrade
        cursor.execute("ALTER TABLE prepared_probe ALTER word TYPE varchar(50)")
    other.close()
    with pytest.raises(NotSupportedError), prepared.repeated(), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(READ, [1])
    assert plans() == 0
    with prepared.repeated(), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(READ, [1])
    with connection.cursor() as cursor:
        assert type(cursor.cursor) is not base.ServerBindingCursor


def test_a_payment_is_assessed_by_statements_that_are_planned_once() -> None:
    connection.close()
    for _ in range(7):
        pay(make_payment())
        control.mine(ETHEREUM, BLOCKS_UNTIL_FINAL[ETHEREUM])
        watch()
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements")
        known = [statement for (statement,) in cursor.fetchall()]
    for each in ('UPDATE "payments_payment"', "INSERT INTO ledger_entry", 'INSERT INTO "webhooks_event"'):
        assert any(each in statement for statement in known), each


def test_a_kept_query_is_written_once_and_reads_in_any_thread_what_the_orm_reads() -> None:
    written: list[UUID] = []

    def query(key: UUID) -> QuerySet[Payment]:
        written.append(key)
        return Payment.objects.select_related("merchant__branding", "payment_link").filter(pk=key)

    def shown(payment: Payment) -> list[str]:
        """Every value with its type, and the names of what was read beside it."""
        both = (payment, payment.merchant)
        values = [repr(getattr(each, field.attname)) for each in both for field in each._meta.concrete_fields]
        return [*values, *(name for each in both for name in each._state.fields_cache)]

    def found(key: UUID) -> list[list[str]]:
        try:
            return [shown(each) for each in kept.found(key)]
        finally:
            connection.close()

    kept = prepared.KeptQuery(query, ids.FIRST_KEY)
    assert kept.found(None) == []
    keys = [make_payment().pk for _ in range(3)] * 2
    with ThreadPoolExecutor(2) as threads:
        results = list(threads.map(found, keys))
    assert written == [ids.FIRST_KEY]
    assert results == [[shown(each) for each in query(key)] for key in keys]
    assert all(len(result) == 1 for result in results)


def test_a_kept_query_outlives_an_upgrade_below_its_plan() -> None:
    kept = prepared.KeptQuery(
        lambda network: ScanCursor.objects.filter(network=network), "network", is_planned_once=True
    )
    connection.close()
    for _ in range(7):
        assert kept.found("moon") == []
    assert plans() == 1
    other = connection.copy()
    try:
        other.cursor().execute("ALTER TABLE payments_scancursor ALTER fault TYPE varchar(500)")
        assert kept.found("moon") == kept.found("moon") == []
    finally:
        other.cursor().execute("ALTER TABLE payments_scancursor ALTER fault TYPE text")
        other.close()


@pytest.fixture
def round_trips(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One for each check by a statement."""
    made: list[int] = []

    def is_usable(self: base.DatabaseWrapper) -> bool:
        made.append(1)
        return original(self)

    original = base.DatabaseWrapper.is_usable
    monkeypatch.setattr(base.DatabaseWrapper, "is_usable", is_usable)
    return made


def in_next_request() -> int:
    """The session that the first statement of another request is run by."""
    connection.close_if_unusable_or_obsolete()
    [(session,)] = prepared.rows("SELECT pg_backend_pid()", [])
    return int(session)


def test_a_busy_connection_is_checked_without_a_round_trip(round_trips: list[int]) -> None:
    assert in_next_request() == in_next_request() == in_next_request()
    assert not round_trips
    connection._asked_at = 0.0  # type: ignore[attr-defined]
    assert in_next_request()
    assert len(round_trips) == 1


def test_a_session_that_the_server_has_ended_is_replaced() -> None:
    before = in_next_request()
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 2000)", [before])
    other.close()
    assert in_next_request() != before
