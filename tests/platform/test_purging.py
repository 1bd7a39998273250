"""What is too old is deleted a batch at a time, also where one statement for all of it would take too long."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import OperationalError, connection
from django.utils import timezone

from config.database.purging import BATCH, delete_in_batches
from merchants.models import AttemptCount, IdempotencyRecord, SeenSignature
from merchants.tasks import purge_idempotency
from tests.factories import make_merchant

pytestmark = pytest.mark.django_db(transaction=True)

OLD = timedelta(days=30)


def counts(number: int) -> None:
    then = timezone.now() - OLD
    AttemptCount.objects.bulk_create(
        [AttemptCount(subject=f"somebody {each}", last_attempt_at=then) for each in range(number)]
    )


class Deletes:
    """The DELETE statements that were sent, with the number of rows each of them deleted."""

    def __init__(self) -> None:
        self.rows: list[int] = []

    def __call__(self, execute: Callable[..., Any], statement: str, parameters: Any, many: bool, context: Any) -> Any:
        result = execute(statement, parameters, many, context)
        if statement.startswith("DELETE"):
            self.rows.append(context["cursor"].rowcount)
        return result


def test_no_statement_deletes_more_than_a_batch() -> None:
    counts(25)
    with connection.execute_wrapper(deletes := Deletes()):
        assert delete_in_batches(AttemptCount.objects.all(), batch=10) == 25
    assert deletes.rows == [10, 10, 5]


def test_every_purge_of_the_hour_goes_by_batches() -> None:
    merchant, then = make_merchant(), timezone.now() - OLD
    number = BATCH + 1
    counts(number)
    IdempotencyRecord.objects.bulk_create(
        IdempotencyRecord(merchant=merchant, environment="sandbox", key=f"{each}", request_digest=b"", created_at=then)
        for each in range(number)
    )
    SeenSignature.objects.bulk_create(
        SeenSignature(signature=each.to_bytes(32, "big"), seen_at=then) for each in range(number)
    )
    Session.objects.bulk_create(
        Session(session_key=f"{each}", session_data="", expire_date=then) for each in range(number)
    )
    with connection.execute_wrapper(deletes := Deletes()):
        purge_idempotency()
    assert deletes.rows == [BATCH, 1] * 4
    for model in (AttemptCount, IdempotencyRecord, SeenSignature, Session):
        assert not model.objects.exists()


def slow_deletes(table: str) -> None:
    """Each row that is deleted takes 30 ms from now on."""
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION slow_delete() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN PERFORM pg_sleep(0.03); RETURN OLD; END $$"
        )
        cursor.execute(
            f"CREATE TRIGGER slow_delete BEFORE DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION slow_delete()"
        )


def test_after_a_statement_timed_out_it_goes_on_with_smaller_batches() -> None:
    counts(40)
    slow_deletes(AttemptCount._meta.db_table)
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = '600ms'")
        with pytest.raises(OperationalError):
            AttemptCount.objects.all()._raw_delete("default")
        assert AttemptCount.objects.count() == 40, "all at once gets nowhere"
        assert delete_in_batches(AttemptCount.objects.all(), batch=40) == 40
    finally:
        connection.close()
        with connection.cursor() as cursor:
            cursor.execute("DROP FUNCTION slow_delete CASCADE")
    assert not AttemptCount.objects.exists()


def test_what_is_not_too_old_stays() -> None:
    counts(1)
    AttemptCount.objects.create(subject="new", last_attempt_at=timezone.now())
    Session.objects.create(session_key="ended", session_data="", expire_date=timezone.now() - timedelta(hours=23))
    purge_idempotency()
    assert list(AttemptCount.objects.values_list("subject", flat=True)) == ["new"]
    assert Session.objects.count() == 1
