"""Locks that pending migrations take, read off the SQL that PostgreSQL will be given."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from django.db import connection
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor

_TABLE = r'(?:only\s+)?(?:if\s+exists\s+)?(?:public\.)?"?(?P<table>\w+)"?'
_ALTER = rf"alter\s+table\s+{_TABLE}\s[^;]*?\b"

MOMENT, WRITES = "for a moment", "row by row"
READS, REWRITES = "while all of it is read", "while it may be rewritten"
HELD = "until the migration ends"
"""How long a lock is held."""

_PATTERNS: Final[Sequence[tuple[re.Pattern[str], str, str]]] = [
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), mode, lasting)
    for pattern, mode, lasting in (
        (rf"create\s+(unique\s+)?index\s+concurrently\s[^;]*?\bon\s+{_TABLE}", "SHARE UPDATE EXCLUSIVE", READS),
        (rf"create\s+(unique\s+)?index\s[^;]*?\bon\s+{_TABLE}", "SHARE", READS),
        (rf"{_ALTER}validate\s+constraint", "SHARE UPDATE EXCLUSIVE", READS),
        (rf"{_ALTER}foreign\s+key\b[^;]*\bnot\s+valid", "SHARE ROW EXCLUSIVE", MOMENT),
        (rf"{_ALTER}add\s+constraint\b[^;]*\b(not\s+valid|using\s+index)\b", "ACCESS EXCLUSIVE", MOMENT),
        (rf"{_ALTER}add\s+constraint\b[^;]*\bforeign\s+key\b", "SHARE ROW EXCLUSIVE", READS),
        (rf"{_ALTER}add\s+constraint\b", "ACCESS EXCLUSIVE", READS),
        (rf"{_ALTER}(set\s+data\s+type|alter\s+column\s+\S+\s+type)\b", "ACCESS EXCLUSIVE", REWRITES),
        (rf"{_ALTER}set\s+not\s+null\b", "ACCESS EXCLUSIVE", READS),
        (rf"{_ALTER}add\s+column\b[^;]*\b(unique|primary\s+key)\b", "ACCESS EXCLUSIVE", READS),
        (rf"alter\s+table\s+{_TABLE}", "ACCESS EXCLUSIVE", MOMENT),
        (rf"(?:drop|truncate)\s+table\s+{_TABLE}", "ACCESS EXCLUSIVE", MOMENT),
        (rf"lock\s+table\s+{_TABLE}\s+in\s+(?P<mode>[\w ]+?)\s+mode", "", HELD),
        (rf"lock\s+(?:table\s+)?{_TABLE}", "ACCESS EXCLUSIVE", HELD),
        (rf"create\s+(constraint\s+)?trigger\s[^;]*?\bon\s+{_TABLE}", "SHARE ROW EXCLUSIVE", MOMENT),
        (rf"drop\s+trigger\s[^;]*?\bon\s+{_TABLE}", "ACCESS EXCLUSIVE", MOMENT),
        (rf"(?:update|delete\s+from|insert\s+into)\s+{_TABLE}", "ROW EXCLUSIVE", WRITES),
    )
]
_NEW_TABLE: Final = re.compile(rf"create\s+table\s+(?:if\s+not\s+exists\s+)?{_TABLE}", re.IGNORECASE)
_COMMENT: Final = re.compile(r"--[^\n]*")
_BODY: Final = re.compile(r"\$(\w*)\$.*?\$\1\$", re.DOTALL)
_DROPS_COLUMN: Final = re.compile(
    rf'{_ALTER}(?:drop|rename)\s+column\s+(?:if\s+exists\s+)?"?(?P<column>\w+)', re.IGNORECASE | re.DOTALL
)
_DROPS_TABLE: Final = re.compile(rf"drop\s+table\s+{_TABLE}", re.IGNORECASE)
_RENAMES_TABLE: Final = re.compile(rf"alter\s+table\s+{_TABLE}\s+rename\s+to\b", re.IGNORECASE)
_DO: Final = re.compile(r"^\s*do\b", re.IGNORECASE)
_CODE = "THIS OPERATION CANNOT BE WRITTEN AS SQL"

_LETS_OTHERS_WRITE = frozenset({"SHARE UPDATE EXCLUSIVE", "ROW EXCLUSIVE", "ROW SHARE", "ACCESS SHARE"})


@dataclass(frozen=True, slots=True)
class Lock:
    table: str
    mode: str
    lasting: str

    @property
    def is_long(self) -> bool:
        """True if nobody can write to the table for longer than a moment."""
        return self.mode not in _LETS_OTHERS_WRITE and self.lasting in (READS, REWRITES, HELD)

    def __str__(self) -> str:
        return f"{self.mode} on {self.table}, {self.lasting}"


@dataclass(frozen=True, slots=True)
class Pending:
    """A migration that is not applied yet."""

    name: str
    locks: tuple[Lock, ...]
    removed: tuple[str, ...]
    """Columns and tables that it takes away: the release before must not use them any more."""
    runs_code: bool


def locks_in(statement: str) -> Iterator[Lock]:
    """Those of one statement; the first that fits says it best."""
    for pattern, mode, lasting in _PATTERNS:
        if found := pattern.match(statement.strip()):
            yield Lock(found["table"], mode or found["mode"].upper(), lasting)
            return


def statements_in(sql: str) -> list[str]:
    """Without comments, and without bodies of functions, which take no lock when they are made."""
    return [each.strip() for each in _BODY.sub("''", _COMMENT.sub("", sql)).split(";") if each.strip()]


def removed_by(statements: Sequence[str]) -> Iterator[str]:
    """Columns and tables that are not there under their name any more."""
    for statement in statements:
        if found := _DROPS_COLUMN.match(statement):
            yield f"{found['table']}.{found['column']}"
        elif found := _DROPS_TABLE.match(statement) or _RENAMES_TABLE.match(statement):
            yield found["table"]


def pending_migrations() -> list[Pending]:
    """In the order in which `migrate` runs them; none of it is run."""
    executor = MigrationExecutor(connection)
    new_tables: set[str] = set()
    return [
        _pending(executor, migration, new_tables)
        for migration, _ in executor.migration_plan(executor.loader.graph.leaf_nodes())
    ]


def _pending(executor: MigrationExecutor, migration: Migration, new_tables: set[str]) -> Pending:
    sql = executor.loader.collect_sql([(migration, False)])
    statements = [each for text in sql for each in statements_in(text)]
    new_tables |= {found["table"] for each in statements if (found := _NEW_TABLE.match(each))}
    locks = dict.fromkeys(lock for each in statements for lock in locks_in(each) if lock.table not in new_tables)
    runs_code = any(_CODE in text for text in sql) or any(map(_DO.match, statements))
    return Pending(str(migration), tuple(locks), tuple(removed_by(statements)), runs_code)


def sizes_of(tables: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Bytes with indexes, and about how many rows, of those of them that there are."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT whole.relname, sum(pg_total_relation_size(part.oid)), sum(greatest(part.reltuples, 0))"
            " FROM pg_class AS whole JOIN pg_class AS part ON part.oid = whole.oid"
            "   OR part.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = whole.oid)"
            " WHERE whole.relnamespace = 'public'::regnamespace AND whole.relkind IN ('r', 'p')"
            "   AND whole.relname = ANY(%s) GROUP BY 1",
            [list(tables)],
        )
        return {name: (int(size), int(rows)) for name, size, rows in cursor.fetchall()}
