"""The manifest of a backup: what it was made of and by, and the figures that its restored copy must have.

The figures are read in the snapshot that is dumped, and again in the copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any, Self

from django.db import ProgrammingError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader

from config.installation.backups.keys import Fingerprints, fingerprints
from config.installation.backups.programs import BackupError
from config.process.release import RELEASE

FORMAT = 1

OURS = """relnamespace = 'public'::regnamespace
    AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'e')"""
"""What no extension brought, of `pg_class`."""
TABLES = f"SELECT relname FROM pg_class WHERE relkind = 'r' AND {OURS} ORDER BY relname"  # noqa: S608 - constant


@dataclass(frozen=True, slots=True)
class Figure:
    """A query whose rows tell the content of a database. Where it `grows`, the copy may have more: PostgreSQL dumps a
    sequence as it is when it comes to it."""

    query: str
    grows: bool = False


_figures: dict[str, Figure] = {}


def add_figure(name: str, query: str, *, grows: bool = False) -> None:
    """For the app that has the tables, in its AppConfig.ready."""
    _figures[name] = Figure(query, grows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    release: str
    taken_at: str
    installation: str
    server: int
    """The major version of PostgreSQL, as is `dumped_by`."""
    dumped_by: int
    migrations: dict[str, list[str]]
    """Those that it has of the code that made it."""
    keys: Fingerprints
    rows: dict[str, int]
    """Of each table how many."""
    figures: dict[str, list[list[Any]]]
    format: int = FORMAT

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Self:
        """BackupError for the one of another format."""
        known = {each.name for each in fields(cls)}
        if content.get("format") != FORMAT or known - content.keys():
            raise BackupError(f"It has format {content.get('format')}, and this version reads {FORMAT}.")
        return cls(**{name: content[name] for name in known})

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def instant(self) -> datetime:
        return datetime.fromisoformat(self.taken_at)


def take_manifest(session: BaseDatabaseWrapper, *, dumped_by: int) -> Manifest:
    """As the database is in the transaction of this session."""
    [[taken_at]] = _rows(session, "SELECT now()")
    return Manifest(
        release=RELEASE,
        taken_at=taken_at.isoformat(),
        installation=_installation(session),
        server=server_major(session),
        dumped_by=dumped_by,
        migrations=_applied(session),
        keys=fingerprints(),
        rows=_counts(session),
        figures={name: _plain(session, figure.query) for name, figure in _figures.items()},
    )


def differences(manifest: Manifest, session: BaseDatabaseWrapper) -> Iterator[str]:
    """What a restored copy has otherwise than the manifest says."""
    counted = _counts(session)
    for table in sorted(manifest.rows.keys() | counted.keys()):
        noted, found = manifest.rows.get(table), counted.get(table)
        if noted != found:
            yield f"{table} has {_number(found)}, and had {_number(noted)}"
    for name, rows in manifest.figures.items():
        figure = _figures.get(name)
        if figure is None:
            continue
        try:
            found_rows = _plain(session, figure.query)
        except ProgrammingError:
            session.rollback()
            continue  # its tables were other ones in the version that dumped it
        is_as_noted = found_rows >= rows if figure.grows else found_rows == rows
        if not is_as_noted:
            changed = [row for row in (*rows, *found_rows) if (row in rows) != (row in found_rows)]
            yield f"the {name} differ: {', '.join(' '.join(map(str, row)) for row in changed[:3])}"


def unknown_migrations(manifest: Manifest) -> list[str]:
    """Those that this code does not have: it is older than the backup."""
    known = _of_the_code()
    return [f"{app}.{name}" for app, names in manifest.migrations.items() for name in names if (app, name) not in known]


def later_migrations(manifest: Manifest) -> list[str]:
    """Those that the backup lacks: it is older than the code."""
    there = {(app, name) for app, names in manifest.migrations.items() for name in names}
    return [f"{app}.{name}" for app, name in sorted(_of_the_code() - there)]


def server_major(session: BaseDatabaseWrapper) -> int:
    [[number]] = _rows(session, "SELECT current_setting('server_version_num')::int / 10000")
    return int(number)


def _of_the_code() -> set[tuple[str, str]]:
    loader = MigrationLoader(None)
    return {*loader.disk_migrations, *(key for each in loader.disk_migrations.values() for key in each.replaces)}


def _applied(session: BaseDatabaseWrapper) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    known = _of_the_code()
    for app, name in _rows(session, "SELECT app, name FROM django_migrations ORDER BY app, name"):
        if (app, name) in known:
            found.setdefault(app, []).append(name)
    return found


def _installation(session: BaseDatabaseWrapper) -> str:
    rows = _rows(session, "SELECT id FROM installation_installation")
    return str(rows[0][0]) if rows else ""


def _counts(session: BaseDatabaseWrapper) -> dict[str, int]:
    tables = _rows(session, TABLES)
    quote = session.ops.quote_name
    counted = {}
    for (table,) in tables:
        [[count]] = _rows(session, f"SELECT count(*) FROM {quote(table)}")  # noqa: S608 - a quoted name
        counted[table] = int(count)
    return counted


def _plain(session: BaseDatabaseWrapper, query: str) -> list[list[Any]]:
    """As JSON has it again."""
    return [[value if isinstance(value, int | None) else str(value) for value in row] for row in _rows(session, query)]


def _rows(session: BaseDatabaseWrapper, query: str) -> list[tuple[Any, ...]]:
    with session.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())


def _number(count: int | None) -> str:
    return "not been there" if count is None else f"{count:,} rows"
