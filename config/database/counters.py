"""Figures that are too dear to count when they are asked for: sums in a table, exact at any moment.

Whoever changes what is counted says so in the same database transaction: by a row of deltas, which waits for nobody and
which a task folds into the sums, or by a trigger that adds to the sums themselves, where the writers of a sum wait for
each other already. What is counted stays the truth: sums are compared with it, and corrected by it.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection, transaction
from django.db.models import Model

FOLD_BATCH = 20_000

MADE_AT = "to_timestamp(('x' || left(replace({key}::text, '-', ''), 12))::bit(48)::bigint / 1000.0)"
"""The instant inside a UUIDv7, in SQL: as ids.created_at_of. Only hexadecimal text is read by PostgreSQL as bits."""


@dataclass(frozen=True, kw_only=True)
class Counter:
    """Tables of sums and of deltas, and what they count."""

    sums: type[Model]
    key: tuple[str, ...]
    """Columns of the sums: there is one row for each of their values."""
    added: tuple[str, ...]
    """Columns of the sums that are added up."""
    counted: str = ""
    """SELECT of the same columns from what is counted, with the condition {rows} on what it counts."""
    counted_rows: str = "TRUE"
    """The rows that are counted: all that belong to the sums of `own`."""
    own: str = "TRUE"
    """Which rows of the sums are compared and corrected, by their key."""
    deltas: type[Model] | None = None
    """None where a trigger adds to the sums."""
    changes: str = ""
    """SELECT of the same columns from the table of deltas, which it calls {deltas}."""

    @property
    def rows(self) -> str:
        """SELECT of what the figures are made of: sums, and the deltas that are not folded into them yet."""
        found = f"SELECT {', '.join(self.key + self.added)} FROM {_table(self.sums)}"  # noqa: S608 - our own tables
        if self.deltas is None:
            return found
        return f"{found} UNION ALL {self.changes.format(deltas=_table(self.deltas))}"

    @property
    def differences(self) -> str:
        """SELECT of the key, and of each sum what it is and what it should be, where they differ. Reads all that is
        counted, in one statement and so at one moment: for reconcile, not for requests."""
        key = ", ".join(self.key)
        kept, counted = ([f"COALESCE({rows}.{name}, 0)" for name in self.added] for rows in ("kept", "counted"))
        pairs = [
            f"{was} AS {name}, {should} AS counted_{name}"
            for name, was, should in zip(self.added, kept, counted, strict=True)
        ]
        return f"""
            WITH kept AS (
                SELECT {key}, {_summed(self.added)} FROM ({self.rows}) AS part WHERE {self.own} GROUP BY {key}
            ), counted AS (
                SELECT * FROM ({self.counted.format(rows=self.counted_rows)}) AS found WHERE {self.own}
            )
            SELECT {key}, {", ".join(pairs)} FROM kept FULL JOIN counted USING ({key})
            WHERE ({", ".join(kept)}) <> ({", ".join(counted)}) ORDER BY {key}
        """  # noqa: S608 - names of our own tables and columns


def require_transaction() -> None:
    """Raises RuntimeError where a change is counted outside of the database transaction that makes it."""
    if not connection.in_atomic_block:
        raise RuntimeError("what changes is counted in the database transaction that changes it")


def fold(counter: Counter, *, batch: int = FOLD_BATCH) -> int:
    """Fold the oldest deltas into the sums; returns how many. Any number of workers may do it at once.

    Rows that another worker is folding just now are skipped, and sums are touched in one order, so that two workers
    neither fold a delta twice nor deadlock.
    """
    assert counter.deltas is not None  # noqa: S101 - narrows the type
    deltas, key = _table(counter.deltas), ", ".join(counter.key)
    unchanged = ", ".join("0" for _ in counter.added)
    statement = f"""
        WITH batch AS (
            SELECT id FROM {deltas} ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED
        ), taken AS (
            DELETE FROM {deltas} USING batch WHERE {deltas}.id = batch.id RETURNING {deltas}.*
        ), folded AS (
            {
        _add(
            counter,
            f"SELECT {key}, {_summed(counter.added)} FROM ({counter.changes.format(deltas='taken')})"
            f" AS change GROUP BY {key} HAVING ({_summed(counter.added, named=False)}) <> ({unchanged})",
        )
    }
        )
        SELECT COUNT(*) FROM taken
    """  # noqa: S608 - names of our own tables and columns
    with connection.cursor() as cursor:
        cursor.execute(statement, [batch])
        return int(cursor.fetchone()[0])


def fold_all(counter: Counter) -> None:
    """Fold deltas until less than a batch is left, so that a backlog does not take an interval for each batch."""
    while fold(counter) == FOLD_BATCH:
        pass


def correct(counter: Counter) -> int:
    """Add to each sum what it differs by from what is counted; returns how many were wrong.

    Whoever changes a sum waits meanwhile: those who fold, and those whose trigger adds to it. Whoever appends a delta
    does not: it is in the moment of the comparison together with what it counts, or neither is.
    """
    missing = ", ".join(f"counted_{name} - {name}" for name in counter.added)
    wrong = f"SELECT {', '.join(counter.key)}, {missing} FROM ({counter.differences}) AS wrong"  # noqa: S608
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute(f"LOCK TABLE {_table(counter.sums)} IN SHARE ROW EXCLUSIVE MODE")
        cursor.execute(_add(counter, wrong))
        return int(cursor.rowcount)


def _add(counter: Counter, found: str) -> str:
    """INSERT that adds the rows of a SELECT to the sums."""
    table, key = _table(counter.sums), ", ".join(counter.key)
    more = ", ".join(f"{name} = {table}.{name} + EXCLUDED.{name}" for name in counter.added)
    return (
        f"INSERT INTO {table} ({key}, {', '.join(counter.added)}) {found} ORDER BY {key} "
        f"ON CONFLICT ({key}) DO UPDATE SET {more}"
    )


def _summed(columns: tuple[str, ...], *, named: bool = True) -> str:
    return ", ".join(f"SUM({name}) AS {name}" if named else f"SUM({name})" for name in columns)


def _table(model: type[Model]) -> str:
    return model._meta.db_table
