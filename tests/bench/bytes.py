"""What completed payments take on disk: the rows, the TOAST and every index of each table.

`python -m tests.bench.bytes` completes 1,020 payments with three webhooks each through the services, writes their
requests to the log, and weighs every table before and after: a minute and a half. `--payments 3000` completes more.
"""
# ruff: noqa: T201 - its report goes to standard output

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Mapping
from typing import NamedTuple

from tests.bench import server
from tests.bench.report import Line

GOAL_MEBIBYTES = 4.0
"""Of tables and indexes for 1,000 payments."""
SIMULATED = "simulated_chain_"
"""Tables of the networks that the sandbox simulates: in production they are empty, and not counted."""

SIZES = """
    WITH own AS (
        SELECT part.oid, part.reltoastrelid, coalesce(whole.relname, part.relname) AS name
        FROM pg_class AS part
        LEFT JOIN pg_inherits ON inhrelid = part.oid LEFT JOIN pg_class AS whole ON whole.oid = inhparent
        WHERE part.relkind = 'r' AND part.relnamespace = 'public'::regnamespace
    )
    SELECT name, 'rows', sum(pg_relation_size(oid)) FROM own GROUP BY 1
    UNION ALL SELECT name, 'TOAST', sum(pg_total_relation_size(reltoastrelid))
    FROM own WHERE reltoastrelid <> 0 GROUP BY 1
    UNION ALL SELECT name, coalesce(whole.relname, part.relname), sum(pg_relation_size(part.oid))
    FROM own JOIN pg_index ON indrelid = own.oid JOIN pg_class AS part ON part.oid = indexrelid
    LEFT JOIN pg_inherits ON inhrelid = part.oid LEFT JOIN pg_class AS whole ON whole.oid = inhparent GROUP BY 1, 2
"""


class Relation(NamedTuple):
    """Of a partition these are the names of the whole."""

    table: str
    name: str
    """Of an index, or `rows` or `TOAST`."""


Weights = Mapping[Relation, float]


def lines(payments: int = 1_020) -> list[Line]:
    """The weight of 1,000 completed payments, then of every table that holds a two-hundredth of it, in KiB.

    Meanwhile VACUUM takes away dead rows as often as autovacuum by its defaults: before they are a fifth.
    """
    from tests.bench import database

    _run("VACUUM (FULL, ANALYZE)")
    before = sizes()
    completed = database.complete(payments, between=lambda: _run("VACUUM"))
    _run("VACUUM (ANALYZE)")
    found = _of_thousand(before, sizes(), completed)
    _run("VACUUM (FULL, ANALYZE)")
    return _lines(found, _of_thousand(before, sizes(), completed))


def _run(statement: str) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(statement)


def _lines(found: Weights, rewritten: Weights) -> list[Line]:
    whole = sum(found.values())
    made = [
        Line(
            "1,000 completed payments at rest",
            f"{whole / 1024:.2f} MiB, {1.024 * whole:,.0f} bytes a payment",
            f"{sum(rewritten.values()) / 1024:.2f} MiB rewritten",
            "",
            f"<= {GOAL_MEBIBYTES:g} MiB",
            whole / 1024 <= GOAL_MEBIBYTES,
        )
    ]
    for table in sorted({each.table for each in found}, key=lambda name: -_of_table(found, name)):
        if (size := _of_table(found, table)) < whole / 200:
            break
        parts = {each: _of_table(found, table, each.__eq__) for each in ("rows", "TOAST")}
        parts["indexes"] = size - sum(parts.values())
        shown = ", ".join(f"{name} {part:.0f}" for name, part in parts.items())
        limit = f"{_of_table(rewritten, table):.0f} KiB rewritten"
        made.append(Line(f"- {table}", f"{size:.0f} KiB: {shown}", limit, f"{size / whole:.1%}"))
        indexes = [each for each in found if each.table == table and each.name not in parts]
        made += [
            Line(f"    {each.name}", f"{found[each]:.0f} KiB", f"{rewritten.get(each, 0):.0f} KiB rewritten")
            for each in sorted(indexes, key=lambda index: -found[index])
        ]
    return made


def _of_table(found: Weights, table: str, is_meant: Callable[[str], bool] = bool) -> float:
    return sum(size for each, size in found.items() if each.table == table and is_meant(each.name))


def sizes() -> dict[Relation, int]:
    """Bytes of every table's rows, of its TOAST and of each of its indexes."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(SIZES)
        return {Relation(table, name): int(size) for table, name, size in cursor.fetchall()}


def _of_thousand(before: Mapping[Relation, int], after: Mapping[Relation, int], payments: int) -> Weights:
    """KiB that 1,000 payments have added, by relation."""
    return {
        each: (size - before.get(each, 0)) / 1024 * 1000 / payments
        for each, size in after.items()
        if not each.table.startswith(SIMULATED)
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.bytes", description=__doc__)
    parser.add_argument("--payments", type=int, default=1_020, help="how many are completed (default 1,020)")
    arguments = parser.parse_args()
    server.choose_settings()
    logging.disable(logging.INFO)
    with server.database() as database:
        import django

        django.setup()
        from django.core.management import call_command

        print(database)
        call_command("migrate", verbosity=0)
        for line in lines(arguments.payments):
            print(line)


if __name__ == "__main__":
    main()
