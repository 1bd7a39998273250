"""Databases that are filled once and measured again and again, one for each size."""
# ruff: noqa: T201 - it shows on the terminal how far it is

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints
from urllib.parse import urlsplit, urlunsplit

import django
import psycopg
from django.core.management import call_command
from psycopg import sql

from config.embedded.postgres import SUPERUSER, EmbeddedPostgres
from tests.bench import server

if TYPE_CHECKING:
    from tests.dashboard.addresses import Records

FEW = 1_000
"""Payments of a small merchant in each database: what a large one is measured beside."""
OTHERS, OF_OTHERS = 99, 100
"""Merchants beside these two, and the payments of each."""
DAYS = 300
"""Over so many days the payments of a merchant are spread: of a million, 100,000 in thirty days."""

QUIET: dict[str, Any] = {
    "SIMULATED_BLOCK_SECONDS": 0,
    "MODE": "test",
    "ALLOWED_HOSTS": ["localhost", "testserver"],
    "SANDBOX_REQUESTS_PER_MINUTE": 1_000_000,
}
"""Settings under which blocks appear, and the log of requests is written, only when they are asked for, and no request
is refused for being one too many."""

FOLDER = server.ROOT / "var" / "bench"


@contextmanager
def data_of(number: int, *, is_fresh: bool = False, drops_others: bool = False) -> Iterator[dict[int, Records]]:
    """The records of two merchants by how many payments each has, `number` and FEW, in a database with others beside.

    Django is set up inside.
    """

    def fill() -> str:
        return json.dumps({size: _keys(each) for size, each in _fill(number).items()})

    name, ways = f"ballast_scale_{number}", {"is_fresh": is_fresh, "drops_others": drops_others}
    with filled(name, ("million.py",), fill, **ways) as kept:
        yield {int(size): _read(keys) for size, keys in json.loads(kept).items()}


@contextmanager
def filled(
    prefix: str,
    sources: tuple[str, ...],
    fill: Callable[[], str],
    *,
    is_fresh: bool = False,
    drops_others: bool = False,
) -> Iterator[str]:
    """What `fill` returned when it filled the database that is kept under this name; in that database.

    On the server of DATABASE_URL, or on an embedded one under var/bench. Filled where it is missing, and
    brought up to date where migrations are newer. One that other `sources` of this folder have filled is told of, and
    dropped only if that is wanted. Django is set up inside.
    """
    (FOLDER / "static").mkdir(parents=True, exist_ok=True)
    os.environ["BALLAST_VAR"] = str(FOLDER)
    address = os.environ.get("DATABASE_URL", "")
    with nullcontext(None) if address else EmbeddedPostgres(FOLDER) as embedded:  # noqa: SIM117 - one needs the other
        with psycopg.connect(address, autocommit=True) if embedded is None else embedded.connect() as connection:
            name = f"{prefix}_{_digest(sources)}"
            kept = _kept(connection, f"{prefix}_", name, drops_others=drops_others)
            if kept is None or is_fresh:
                connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
            if embedded is None:
                os.environ["DATABASE_URL"] = urlunsplit(urlsplit(address)._replace(path=f"/{name}"))
            else:
                os.environ["DATABASE_URL"] = f"postgres://{SUPERUSER}@/{embedded.socket_folder}/{name}"
            django.setup()
            call_command("migrate", verbosity=0)
            if kept is None or is_fresh:
                kept = fill()
                comment = sql.SQL("COMMENT ON DATABASE {} IS {}")  # only now is it whole
                connection.execute(comment.format(sql.Identifier(name), sql.Literal(kept)))
            yield kept


def _kept(connection: psycopg.Connection[Any], prefix: str, name: str, *, drops_others: bool) -> str | None:
    """What was noted of a database when it was filled; None where it is missing, or was not filled to its end."""
    rows = connection.execute(
        "SELECT datname, shobj_description(oid, 'pg_database'), pg_size_pretty(pg_database_size(oid))"
        " FROM pg_database WHERE starts_with(datname, %s)",
        [prefix],
    ).fetchall()
    for other, _, size in rows:
        if other != name and drops_others:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(other)))
        elif other != name:
            print(f"{other}, {size}, was filled by other statements: --drop-others drops it", file=sys.stderr)
    return {each: noted for each, noted, _ in rows}.get(name)


def _digest(sources: tuple[str, ...]) -> str:
    """Of the statements that fill a database. Migrations that are newer than it are run, as on an installation."""
    texts = [Path(__file__).with_name(name).read_bytes() for name in sources]
    return hashlib.sha256(b"".join(texts)).hexdigest()[:12]


def _keys(records: Records) -> dict[str, str]:
    return {each.name: str(getattr(records, each.name).pk) for each in fields(records)}


def _read(keys: dict[str, str]) -> Records:
    from tests.dashboard.addresses import Records

    kinds: dict[str, Any] = get_type_hints(Records)
    return Records(**{name: kinds[name].objects.get(pk=key) for name, key in keys.items()})


def _fill(number: int) -> dict[int, Records]:
    from django.test import override_settings

    from tests.bench.million import Fill
    from tests.dashboard.addresses import make_records
    from tests.factories import make_merchant

    records = {}
    with override_settings(**QUIET):
        for size in sorted({FEW, number}):  # all before the first is filled: what is made looks through all there is
            records[size] = make_records(make_merchant(f"{size:,} payments"))
    for size, own in records.items():
        bar = Bar(f"{size:,} payments")
        fill = Fill(own.payment.merchant, own, size, days=DAYS, tell=bar.show)
        if size == FEW:
            fill.write_others(OTHERS, OF_OTHERS)
        fill.write()
        bar.show("filled", 1.0)
    vacuum()
    return records


def vacuum() -> None:
    """Have PostgreSQL see what a database that was filled holds, as autovacuum does in time."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("RESET statement_timeout")


class Bar:
    """How far something is, on the terminal's error output: a line that is written over, or one for each tenth."""

    WIDTH = 30

    def __init__(self, name: str) -> None:
        self._name, self._started, self._shown = name, time.monotonic(), -1

    def show(self, what: str, share: float) -> None:
        is_terminal = sys.stderr.isatty()
        if not is_terminal and int(share * 10) == self._shown:
            return
        self._shown = int(share * 10)
        done = round(share * self.WIDTH)
        seconds = time.monotonic() - self._started
        line = f"{self._name} [{'#' * done}{'.' * (self.WIDTH - done)}] {share:4.0%} {seconds:5.0f} s  {what:<40.40}"
        print(f"\r{line}" if is_terminal else line, end="" if is_terminal and share < 1 else "\n", file=sys.stderr)
        sys.stderr.flush()
