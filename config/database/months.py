"""Tables that PostgreSQL keeps in a partition for each month (UTC) of a UUIDv7, so that what is old goes by the month.

What no month was made for is in the partition `…_rest`, so that writing never fails. Django knows nothing of it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import structlog
from django.db import OperationalError, connection, migrations, transaction
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.backends.utils import CursorWrapper
from django.utils import timezone
from psycopg.errors import LockNotAvailable

from config import ids

logger = structlog.get_logger(__name__)

ROOM = timedelta(days=14)
"""Time for a migration that breaks off to be run again, before its limit would refuse new rows."""
LOCK_ATTEMPTS: Final = 60
LOCK_WAIT: Final = "800ms"
"""Everybody else waits behind it. Less than the second after which PostgreSQL breaks a deadlock, perhaps by another."""


@dataclass(frozen=True, slots=True)
class Month:
    """A partition, its table, its beginning and end, about how many rows it has, and its bytes with indexes.

    One without a beginning has everything older; one without an end is that of the rest.
    """

    table: str
    name: str
    since: datetime | None
    until: datetime | None
    rows: int
    size: int


_MONTHS: Final = """
    SELECT parent.relname, part.relname, pg_get_expr(part.relpartbound, part.oid), greatest(part.reltuples, 0)::bigint,
        pg_total_relation_size(part.oid)
    FROM pg_inherits
    JOIN pg_class AS part ON part.oid = inhrelid
    JOIN pg_class AS parent ON parent.oid = inhparent
    WHERE parent.relkind = 'p' AND parent.relnamespace = 'public'::regnamespace
        AND parent.relname = coalesce(%s, parent.relname)
    ORDER BY 1, 2
"""
_BOUND: Final = re.compile(r"FROM \('?([^')]+)'?\) TO \('([^')]+)'\)")


def months_of(table: str | None = None) -> list[Month]:
    """The partitions of a table, or of all that have any: oldest first, the rest last."""
    with connection.cursor() as cursor:
        cursor.execute(_MONTHS, [table])
        return [Month(table, name, *_span(bound), rows, size) for table, name, bound, rows, size in cursor.fetchall()]


def _span(bound: str) -> tuple[datetime | None, datetime | None]:
    if (found := _BOUND.search(bound)) is None:
        return None, None
    since, until = found.groups()
    return None if since == "MINVALUE" else ids.created_at_of(UUID(since)), ids.created_at_of(UUID(until))


def month_start(instant: datetime) -> datetime:
    """The beginning of its month, UTC."""
    return instant.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def make_months(table: str) -> None:
    """Make the months up to the next one, with what is in the rest of them."""
    next_month = month_start(month_start(timezone.now()) + timedelta(days=31))
    if not any(month.until and month.until > next_month for month in months_of(table)):
        _call("make_months", table)


def keep_months(table: str, *, before: datetime, kept_by: str | None = None) -> datetime | None:
    """Make the next months, and drop those that ended before an instant. Their rows go to the rest whose column
    `kept_by` is not before it.

    Returns the beginning of the oldest month: what is older is in the rest. None where nothing is, and where a lock was
    not to be had, as while a backup reads the table: the next time does it.
    """
    try:
        make_months(table)
        for month in months_of(table):
            if month.until and month.until <= before:
                _call("drop_month", month.name, kept_by, before)
                logger.info("month_dropped", table=table, month=month.name, rows=month.rows, bytes=month.size)
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable):
            raise
        logger.warning("months_left_as_they_are", table=table)
        return None
    return months_of(table)[0].since


def detach_month(month: Month) -> None:
    """Make a month a table of its own, as the owner of both. PostgreSQL does it CONCURRENTLY only where nothing
    takes the rest.

    It points to nothing any more: what its rows are of could not be deleted as long as it is there.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_WAIT}'")
        cursor.execute(f"ALTER TABLE {month.table} DETACH PARTITION {month.name}")
        for (name,) in _all(cursor, _NAMES_OF_FOREIGN_KEYS, month.name):
            cursor.execute(f"ALTER TABLE {month.name} DROP CONSTRAINT {name}")


def _call(function: str, *arguments: str | datetime | None) -> None:
    """One of the functions of the database that do this as the owner of the tables."""
    with connection.cursor() as cursor:
        # Not callproc, which the cursors of the engine for poolers do not have.
        cursor.execute(f"SELECT {function}({', '.join(['%s'] * len(arguments))})", arguments)


def partition_by_month(table: str, *, key: str = "id", primary_key: str = "") -> migrations.RunPython:
    """The operation that makes a table one of months, for a migration that is not atomic: its rows stay where they are
    and become the first month. Nobody waits for longer than a moment. Done again it goes on or does nothing; backwards
    it does nothing, as the version before works on such a table.

    PostgreSQL wants the key of the months in the primary key, and in all that is unique.
    """

    def forwards(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT relkind = 'p' FROM pg_class WHERE oid = %s::regclass", [table])
            if cursor.fetchone() == (True,):
                return
            end = month_start(month_start(timezone.now() + ROOM) + timedelta(days=31))
            try:
                # PostgreSQL reads all of it for the limit, while others write, and none of it for the partition.
                _briefly(cursor, _LIMIT.format(table=table, key=key, end=ids.first_uuid_at(end)))
                cursor.execute(f"ALTER TABLE {table} VALIDATE CONSTRAINT {table}_limit")
                if primary_key:
                    schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {table}_key")
                    schema_editor.execute(f"CREATE UNIQUE INDEX CONCURRENTLY {table}_key ON {table} ({primary_key})")
                _briefly(cursor, lambda: _swap(cursor, table, key, end, has_new_key=bool(primary_key)))
            except BaseException:
                _briefly(cursor, f"ALTER TABLE IF EXISTS {table} DROP CONSTRAINT IF EXISTS {table}_limit")
                raise

    return migrations.RunPython(forwards, migrations.RunPython.noop)


_LIMIT: Final = """
    ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {table}_limit,
        ADD CONSTRAINT {table}_limit CHECK ({key} < '{end}') NOT VALID
"""

_INDEXES: Final = """
    SELECT index.relname, CASE WHEN conname IS NULL THEN pg_get_indexdef(indexrelid) ELSE
        format('ALTER TABLE %%s ADD CONSTRAINT %%I %%s', %(table)s, conname, pg_get_constraintdef(pg_constraint.oid))
    END
    FROM pg_index JOIN pg_class AS index ON index.oid = indexrelid
    LEFT JOIN pg_constraint ON conindid = indexrelid AND contype IN ('p', 'u')
    WHERE indrelid = %(table)s::regclass
"""
_FOREIGN_KEYS: Final = """
    SELECT format('ALTER TABLE %%s ADD CONSTRAINT %%I %%s', %(table)s, conname, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE conrelid = %(table)s::regclass AND contype = 'f'
"""
_NAMES_OF_FOREIGN_KEYS: Final = (
    "SELECT quote_ident(conname) FROM pg_constraint WHERE conrelid = %(table)s::regclass AND contype = 'f'"
)
_POINTED_TO: Final = """
    SELECT confrelid::regclass::text FROM pg_constraint WHERE conrelid = %(table)s::regclass AND contype = 'f'
"""
"""They are locked first, as whoever records an attempt does."""
_GRANTS: Final = """
    SELECT format(
        'GRANT %%s ON %%s TO %%s', privilege_type, %(table)s,
        CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END
    ) FROM pg_class CROSS JOIN aclexplode(relacl) WHERE oid = %(table)s::regclass AND grantee <> relowner
"""


def _swap(cursor: CursorWrapper, table: str, key: str, end: datetime, *, has_new_key: bool) -> None:
    """Put a partitioned table in the place of a table, which becomes its first month."""
    first = f"{table}_{month_start(end - timedelta(days=1)):%Y_%m}"
    pointed_to = ", ".join(name for (name,) in _all(cursor, _POINTED_TO, table))
    cursor.execute((f"LOCK TABLE {pointed_to};" if pointed_to else "") + f"LOCK TABLE {table}")
    if has_new_key:
        new = f"ADD CONSTRAINT {table}_pkey PRIMARY KEY USING INDEX {table}_key"
        cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT {table}_pkey, {new}")
    names, made_again = zip(*_all(cursor, _INDEXES, table), strict=True)
    made_again += tuple(each for (each,) in (*_all(cursor, _FOREIGN_KEYS, table), *_all(cursor, _GRANTS, table)))
    cursor.execute(f"ALTER TABLE {table} RENAME TO {first}")
    for name in names:
        cursor.execute(f"ALTER INDEX {name} RENAME TO {name}{first.removeprefix(table)}")
    cursor.execute(
        f"CREATE TABLE {table} (LIKE {first} INCLUDING ALL EXCLUDING INDEXES) PARTITION BY RANGE ({key});"
        f"ALTER TABLE {table} DROP CONSTRAINT {table}_limit"
    )
    for statement in made_again:
        cursor.execute(statement)
    # PostgreSQL takes the indexes that are there for those of the table.
    cursor.execute(
        f"ALTER TABLE {table} ATTACH PARTITION {first} FOR VALUES FROM (MINVALUE) TO ('{ids.first_uuid_at(end)}');"
        f"ALTER TABLE {first} DROP CONSTRAINT {table}_limit;"
        f"CREATE TABLE {table}_rest PARTITION OF {table} DEFAULT"
    )
    if len(_all(cursor, _INDEXES, first)) != len(names):
        raise RuntimeError(f"{first} lacks an index of {table}, which was about to be built with everybody waiting.")
    [(owner,)] = _all(cursor, "SELECT proowner::regrole::text FROM pg_proc WHERE proname = 'make_months'", table)
    for name in (table, first, f"{table}_rest"):  # where a superuser migrates
        cursor.execute(f"ALTER TABLE {name} OWNER TO {owner}")
    _call("make_months", table)


def _all(cursor: CursorWrapper, query: str, table: str) -> list[tuple[Any, ...]]:
    cursor.execute(query, {"table": table})
    return list(cursor.fetchall())


def _briefly(cursor: CursorWrapper, work: str | Callable[[], None]) -> None:
    """Do what needs a lock that others wait behind: for a second, and again a second later."""
    for attempt in range(LOCK_ATTEMPTS):
        try:
            with transaction.atomic():
                cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_WAIT}'")
                if isinstance(work, str):
                    cursor.execute(work)
                else:
                    work()
                return
        except OperationalError as error:
            if not isinstance(error.__cause__, LockNotAvailable) or attempt == LOCK_ATTEMPTS - 1:
                raise
            time.sleep(1)
