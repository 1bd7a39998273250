"""Attempts are kept by the month of their delivery: an old table becomes one of months, and what is old is dropped."""
# ruff: noqa: S608 - names of our own tables

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from io import StringIO
from threading import Thread
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, OperationalError, connection, connections

from config import ids
from config.database.months import make_months, months_of
from tests.deletes import deletes
from tests.patience import until, waits_for_lock
from tests.webhooks.scenes import make_delivery, make_endpoint, send_due
from webhooks.models import Attempt, Delivery
from webhooks.purging import purge_attempts

pytestmark = pytest.mark.django_db(transaction=True)

TABLE = Attempt._meta.db_table


@pytest.fixture
def as_before() -> Iterator[None]:
    """The table as an installation of the release before has it."""
    with connection.schema_editor() as editor:
        editor.delete_model(Attempt)
        editor.create_model(Attempt)
    call_command("migrate", "webhooks", "0002", verbosity=0)
    yield
    call_command("migrate", "webhooks", verbosity=0)


@pytest.fixture
def as_now(as_before: None) -> None:
    call_command("migrate", "webhooks", "0003", verbosity=0)


def made(number: int) -> list[Attempt]:
    endpoint = make_endpoint()
    for _ in range(number):
        make_delivery(endpoint)
    while send_due():
        pass
    return list(Attempt.objects.order_by("started_at"))


def constraints() -> dict[str, Any]:
    with connection.cursor() as cursor:
        return connection.introspection.get_constraints(cursor, TABLE)


def test_a_table_of_attempts_becomes_one_of_months_in_which_nothing_is_there_twice(as_before: None) -> None:
    old = made(3)
    before = constraints()
    call_command("migrate", "webhooks", "0003", verbosity=0)
    assert len(months_of(TABLE)) >= 2
    assert [*Attempt.objects.order_by("started_at")] == old
    after = constraints()
    assert after.pop(f"{TABLE}_pkey")["columns"] == ["id", "delivery_id"]
    assert before.pop(f"{TABLE}_pkey")["columns"] == ["id"]
    assert after == before
    attempt = old[0]
    for number, key in ((attempt.number, ids.new_uuid()), (attempt.number + 1, attempt.pk)):
        twin = Attempt.objects.get(pk=attempt.pk)
        twin.pk, twin.number = key, number
        with pytest.raises(IntegrityError):
            twin.save(force_insert=True)
    with pytest.raises(IntegrityError):
        Delivery.objects.filter(pk=attempt.delivery_id)._raw_delete("default")
    assert len(made(1)) == 4


def test_the_month_of_old_deliveries_goes_and_a_late_attempt_stays_its_sixty_days(as_now: None) -> None:
    late, *_ = made(3)
    first = months_of(TABLE)[0]
    assert first.until is not None
    Attempt.objects.filter(pk=late.pk).update(started_at=first.until + timedelta(days=30))
    made_until = max(month.until for month in months_of(TABLE) if month.until)
    bounds = (str(ids.first_uuid_at(made_until + timedelta(days=days))) for days in (0, 400))
    with connection.cursor() as cursor:  # those of the months that follow
        cursor.execute(f"CREATE TABLE {TABLE}_later PARTITION OF {TABLE} FOR VALUES FROM (%s) TO (%s)", [*bounds])
    dispatcher = connections["default"].copy()
    dispatcher.set_autocommit(False)
    try:
        dispatcher.cursor().execute("UPDATE webhooks_delivery SET attempts_left = 0")  # hinders nobody
        with deletes() as deleted:
            for days, left in ((59, 3), (60, 1), (89, 1)):
                assert purge_attempts(now=first.until + timedelta(days=days, minutes=1)) == 0
                assert Attempt.objects.count() == left
    finally:
        dispatcher.close()
    assert deleted == []
    assert Attempt.objects.get().pk == late.pk
    assert purge_attempts(now=first.until + timedelta(days=90, minutes=1)) == 1
    assert Delivery.objects.count() == 3


def test_a_month_that_is_kept_elsewhere_keeps_no_delivery(as_now: None) -> None:
    [attempt] = made(1)
    month = months_of(TABLE)[0].name
    call_command("partitions", detach=month, stdout=StringIO())
    Delivery.objects.filter(pk=attempt.delivery_id)._raw_delete("default")
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE {month}")
    assert Delivery.objects.count() == 0


def test_who_records_an_attempt_while_a_month_is_made_does_not_wait_for_who_waits_for_him(as_now: None) -> None:
    [attempt] = made(1)
    dispatcher = connections["default"].copy()
    dispatcher.set_autocommit(False)

    def make() -> None:
        for _ in range(100):
            with suppress(OperationalError):  # on a busy machine it gives way before the other is done
                make_months(TABLE)
                break
        connections.close_all()

    maker = Thread(target=make)
    with connection.cursor() as cursor, dispatcher.cursor() as recording:
        cursor.execute(f"DROP TABLE {', '.join(month.name for month in months_of(TABLE) if month.until)}")
        try:
            recording.execute("UPDATE webhooks_delivery SET attempts_left = 0")
            maker.start()
            until(waits_for_lock)
            recording.execute("SET LOCAL lock_timeout = '300ms'")
            recording.execute(
                f"INSERT INTO {TABLE} (id, delivery_id, number, started_at, duration_milliseconds, reply, error)"
                " VALUES (%s, %s, 1, now(), 1, '', '')",
                [attempt.pk, attempt.delivery_id],
            )
            dispatcher.commit()
        finally:
            dispatcher.close()
            maker.join()
        cursor.execute(f"SELECT tableoid::regclass::text FROM {TABLE}")
        assert cursor.fetchall() == [(months_of(TABLE)[0].name,)]
