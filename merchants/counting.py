"""Counts the records that match a list's filters: exact at any moment, cheap at millions of rows.

A counter (config.database.counters) of each merchant, kind, status and day. A total is the sum of whole days, of deltas
not folded yet, and of a COUNT(*) over the few hours at either end of the requested time, all in one statement and
therefore of one moment.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db.models import BigIntegerField, Model
from django.db.models.expressions import RawSQL

from config import ids
from config.api.pagination import KeyRange
from config.database import prepared
from config.database.counters import FOLD_BATCH, MADE_AT, Counter, fold, require_transaction
from merchants.models import RecordCount, RecordCountDelta

_BUCKET = ("merchant_id", "environment", "kind", "status", "day")
COUNTS = Counter(
    sums=RecordCount,
    key=_BUCKET,
    added=("total",),
    deltas=RecordCountDelta,
    changes=f"SELECT {', '.join(_BUCKET)}, change AS total FROM {{deltas}} AS delta",  # noqa: S608
)
"""Of all kinds together."""

_COUNTS, _DELTAS = RecordCount._meta.db_table, RecordCountDelta._meta.db_table

_ONE_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Counted:
    """A table whose records are counted: keyed by UUIDv7, with `merchant_id` and `environment`, and indexed by them.

    `status_column` is the column its lists can be filtered by, None when there is none.
    """

    kind: str
    model: type[Model]
    status_column: str | None = "status"

    @property
    def table(self) -> str:
        return self.model._meta.db_table

    @property
    def counter(self) -> Counter:
        """The counts of this kind, compared with the table itself."""
        counted = f"""
            SELECT merchant_id, environment, '{self.kind}' AS kind, {self.status_column or "''"} AS status,
                ({MADE_AT.format(key="id")} AT TIME ZONE 'UTC')::date AS day, COUNT(*) AS total
            FROM {self.table} WHERE {{rows}} GROUP BY 1, 2, 3, 4, 5
        """  # noqa: S608 - names of our own tables and columns
        return replace(COUNTS, counted=counted, own=f"kind = '{self.kind}'")


def creation_delta(
    counted: Counted, *, merchant_id: uuid.UUID, environment: str, key: uuid.UUID, status: str = ""
) -> RecordCountDelta:
    """The delta of a new record, not yet stored, for a service that inserts it together with the record."""
    return RecordCountDelta(
        merchant_id=merchant_id,
        environment=environment,
        kind=counted.kind,
        status=status,
        day=_day_of(key),
        change=1,
    )


def status_deltas(
    counted: Counted, *, merchant_id: uuid.UUID, environment: str, key: uuid.UUID, old: str, new: str
) -> tuple[RecordCountDelta, ...]:
    """The deltas of a change of status, not yet stored; none when nothing changed."""
    if old == new:
        return ()
    removed = creation_delta(counted, merchant_id=merchant_id, environment=environment, key=key, status=old)
    removed.change = -1
    added = creation_delta(counted, merchant_id=merchant_id, environment=environment, key=key, status=new)
    return removed, added


def record_created(
    counted: Counted, *, merchant_id: uuid.UUID, environment: str, key: uuid.UUID, status: str = ""
) -> None:
    """Count a new record. Only in the database transaction that creates it."""
    require_transaction()
    creation_delta(counted, merchant_id=merchant_id, environment=environment, key=key, status=status).save()


def status_changed(
    counted: Counted, *, merchant_id: uuid.UUID, environment: str, key: uuid.UUID, old: str, new: str
) -> None:
    """Count a record under its new status. Only in the database transaction that changes it."""
    require_transaction()
    deltas = status_deltas(counted, merchant_id=merchant_id, environment=environment, key=key, old=old, new=new)
    RecordCountDelta.objects.bulk_create(deltas)


def total(
    counted: Counted,
    *,
    merchant_id: uuid.UUID,
    environment: str,
    statuses: Sequence[str] | None = None,
    keys: KeyRange = KeyRange(),  # noqa: B008 - frozen
) -> int:
    """Number of records of the merchant with one of the statuses (None: any) and a key in the range."""
    sql, params = _total(counted, merchant_id, environment, statuses, keys)
    [(found,)] = prepared.rows(f"SELECT {sql}", params)
    return int(found)


def total_of_list(
    counted: Counted,
    *,
    merchant_id: uuid.UUID,
    environment: str,
    statuses: Sequence[str] | None = None,
    keys: KeyRange = KeyRange(),  # noqa: B008 - frozen
) -> RawSQL:
    """The same as a column for the query of a list, so that a page of it needs no second query. Computed once."""
    return RawSQL(*_total(counted, merchant_id, environment, statuses, keys), output_field=BigIntegerField())  # noqa: S611


def _total(
    counted: Counted, merchant_id: uuid.UUID, environment: str, statuses: Sequence[str] | None, keys: KeyRange
) -> tuple[str, list[Any]]:
    """The total as an expression of SQL, and its parameters."""
    if keys.is_empty or statuses == []:
        return "0", []
    days, edges = _split(keys)
    terms: list[str] = []
    params: list[Any] = []
    if days is not None:
        where, values = _days_condition(counted, merchant_id, environment, statuses, days)
        for column, table in (
            ("total", _COUNTS),
            ("change", _DELTAS),
        ):  # not of COUNTS.rows, which takes a third longer
            terms.append(f"(SELECT COALESCE(SUM({column}), 0) FROM {table} WHERE {where})")  # noqa: S608
            params += values
    for edge in edges:
        where, values = _rows_condition(counted, merchant_id, environment, statuses, edge)
        terms.append(f"(SELECT COUNT(*) FROM {counted.table} WHERE {where})")  # noqa: S608 - names of our own tables
        params += values
    return " + ".join(terms), params


@dataclass(frozen=True)
class _Days:
    """Whole UTC days from `first` up to but without `end`; None is no bound."""

    first: date | None
    end: date | None


def _split(keys: KeyRange) -> tuple[_Days | None, list[KeyRange]]:
    """A range of keys as whole days and the parts of days at either end."""
    first_day = None if keys.first is None else _day_of(keys.first)
    if first_day is not None and keys.first != _first_key_of(first_day):
        first_day += _ONE_DAY
    end_day = None if keys.end is None else _day_of(keys.end)
    if first_day is not None and end_day is not None and first_day >= end_day:
        return None, [keys]
    edges = []
    if first_day is not None and keys.first != (midnight := _first_key_of(first_day)):
        edges.append(KeyRange(keys.first, midnight))
    if end_day is not None and keys.end != (midnight := _first_key_of(end_day)):
        edges.append(KeyRange(midnight, keys.end))
    return _Days(first_day, end_day), edges


def _day_of(key: uuid.UUID) -> date:
    return ids.created_at_of(key).date()


def _first_key_of(day: date) -> uuid.UUID:
    return ids.first_uuid_at(datetime.combine(day, time.min, tzinfo=UTC))


def _days_condition(
    counted: Counted, merchant_id: uuid.UUID, environment: str, statuses: Sequence[str] | None, days: _Days
) -> tuple[str, list[Any]]:
    where = "merchant_id = %s AND environment = %s AND kind = %s"
    values: list[Any] = [merchant_id, environment, counted.kind]
    if statuses is not None:
        where += " AND status = ANY(%s)"
        values.append(list(statuses))
    if days.first is not None:
        where += " AND day >= %s"
        values.append(days.first)
    if days.end is not None:
        where += " AND day < %s"
        values.append(days.end)
    return where, values


def _rows_condition(
    counted: Counted, merchant_id: uuid.UUID, environment: str, statuses: Sequence[str] | None, keys: KeyRange
) -> tuple[str, list[Any]]:
    where = "merchant_id = %s AND environment = %s"
    values: list[Any] = [merchant_id, environment]
    if statuses is not None:
        if counted.status_column is None:
            raise ValueError(f"records of kind {counted.kind} have no status")
        where += f" AND {counted.status_column} = ANY(%s)"
        values.append(list(statuses))
    if keys.first is not None:
        where += " AND id >= %s"
        values.append(keys.first)
    if keys.end is not None:
        where += " AND id < %s"
        values.append(keys.end)
    return where, values


def fold_counts(*, batch: int = FOLD_BATCH) -> int:
    """Fold the oldest deltas into the daily counts; returns how many."""
    return fold(COUNTS, batch=batch)
