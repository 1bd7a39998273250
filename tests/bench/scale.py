"""`python -m tests.bench.scale`: what each list, count, page and file costs as the payments of a merchant grow.

A merchant of 10,000, of 100,000 and of 1,000,000 payments, each in a database of its own (`tests.bench.kept`) beside
one of 1,000 and 99 others. Databases are kept; the first run fills them in half an hour. A figure is the time
of the processor, of Python and PostgreSQL together, which a busy machine changes little; in brackets are the pages of
the database that were read. `--all` shows every pair of filters. `--sizes 5000,10000` is done in some minutes.
"""
# ruff: noqa: T201 - its report goes to standard output

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import psutil

from tests.bench import kept, server
from tests.bench.lists import Question, questions

if TYPE_CHECKING:
    from tests.bench.viewing import Shop

SIZES = (10_000, 100_000, 1_000_000)
ROUNDS = 5
LIST_RATIO, COUNT_MILLISECONDS = 1.1, 1.0
PAGE_MILLISECONDS, PAGE_RATIO = 90.0, 1.5
ADMIN_MILLISECONDS = STATEMENT_MILLISECONDS = 300.0
PDF_MILLISECONDS = 20_000.0
PARTS = ("lists", "counts", "pages", "operators", "files", "bytes")


@dataclass(frozen=True)
class Figure:
    """Milliseconds of the processor and pages of the database, and the same of the small merchant beside it.

    `most` is the goal in milliseconds, `times` that of the ratio to the small merchant; 0 is none.
    """

    name: str
    milliseconds: float
    read: int
    few: float = 0.0
    few_read: int = 0
    most: float = 0.0
    times: float = 0.0
    note: str = ""

    @property
    def ratio(self) -> float:
        return self.milliseconds / self.few if self.few else 0.0

    @property
    def is_met(self) -> bool:
        return (not self.most or self.milliseconds <= self.most) and (not self.times or self.ratio <= self.times)

    @property
    def goal(self) -> str:
        return ", ".join(
            [*([f"<= {self.most:g} ms"] if self.most else []), *([f"<= {self.times:g}x"] if self.times else [])]
        )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.scale", description=__doc__)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="payments of the large merchants")
    parser.add_argument("--only", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--all", action="store_true", help="a line for every pair of filters")
    parser.add_argument("--fresh", action="store_true", help="fill the databases anew")
    parser.add_argument("--drop-others", action="store_true", help="drop databases that other statements have filled")
    parser.add_argument("--strict", action="store_true", help="fail when a goal is missed")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        _measure_one(arguments.one, arguments)
        return 0
    sizes = [int(each) for each in arguments.sizes.split(",")]
    found = {size: _measured(size, arguments) for size in sizes}
    load = os.getloadavg()[1]
    print(f"\nprocessor's milliseconds (pages read); load {load:.0f}, {server.cores()} cores\n")
    heads = "".join(f"{size:>22,}" for size in sizes)
    print(f"{'what':<62}{heads}{'of 1,000':>10}  {'goal':<18}")
    largest = found[sizes[-1]]
    for name, figure in largest.items():
        columns = "".join(_shown(found[size].get(name)) for size in sizes)
        verdict = ("ok" if figure.is_met else "missed") if figure.goal else ""
        ratio = f"{figure.ratio:.2f}x" if figure.few else ""
        print(f"{name:<62.62}{columns}{ratio:>10}  {figure.goal:<18}{verdict:<7}{figure.note}".rstrip())
    missed = [name for name, figure in largest.items() if not figure.is_met]
    print(f"\n{len(largest) - len(missed)} of {len(largest)} as they should be")
    return 1 if arguments.strict and missed else 0


def _shown(figure: Figure | None) -> str:
    if figure is None:
        return f"{'':>22}"
    return f"{figure.milliseconds:>12,.2f} {f'({figure.read:,})':>9}"


def _measured(size: int, arguments: argparse.Namespace) -> dict[str, Figure]:
    """The figures of one database, by a process of its own, in the order of the report."""
    command = [sys.executable, "-m", "tests.bench.scale", "--one", str(size), "--only", arguments.only]
    command += [option for option in ("--fresh", "--drop-others") if vars(arguments)[option[2:].replace("-", "_")]]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"name"')]
    figures = [Figure(**json.loads(line)) for line in lines]
    if arguments.all:
        return {figure.name: figure for figure in figures}
    worst: dict[str, Figure] = {}
    for figure in figures:
        group, _, which = figure.name.partition(": ")
        if group not in worst or figure.ratio > worst[group].ratio:
            note = f"worst: {which}" if which else figure.note
            worst[group] = Figure(**{**asdict(figure), "name": group, "note": note})
    return worst


def _measure_one(size: int, arguments: argparse.Namespace) -> None:
    parts = arguments.only.split(",")
    server.choose_settings()
    with kept.data_of(size, is_fresh=arguments.fresh, drops_others=arguments.drop_others) as records:
        from django.test import Client, override_settings

        from merchants.access.log_in import sessions
        from merchants.models import Member, User
        from tests.bench.viewing import Shop
        from tests.factories import make_user

        vars(sessions)["_USE_IS_NOTED_EVERY_SECONDS"] = 86_400  # else some page a minute writes it down
        with override_settings(**kept.QUIET):
            shops = []
            for number in (kept.FEW, size):
                owner, operator = Client(SERVER_NAME="localhost"), Client(SERVER_NAME="localhost")
                merchant = records[number].payment.merchant
                for client, name in ((owner, f"owner{number}"), (operator, f"operator{number}")):
                    email = f"{name}@bench.example"
                    staff = {"is_staff": client is operator, "is_superuser": client is operator}
                    user = User.objects.filter(email=email).first() or make_user(email=email, **staff)
                    client.force_login(user)
                    if client is owner:
                        Member.objects.get_or_create(merchant=merchant, user=user, defaults={"role": "owner"})
                shops.append(Shop(owner, operator, records[number], number))
            small, large = shops
            measures: dict[str, Callable[[Shop, Shop], Iterator[Figure]]] = {
                "lists": _lists, "counts": _counts, "pages": _pages,
                "operators": _operators, "files": _files, "bytes": _bytes,
            }  # fmt: skip
            bar = kept.Bar(f"measuring {size:,}")
            for place, part in enumerate(parts):
                bar.show(part, place / len(parts))
                for figure in measures[part](small, large):
                    print(json.dumps(asdict(figure)), flush=True)
            bar.show("measured", 1.0)


class Meter:
    """What this process and its PostgreSQL use for something."""

    def __init__(self) -> None:
        from tests.bench.viewing import backend

        if (found := backend()) is None:
            raise SystemExit("PostgreSQL is not on this machine: what its processor does cannot be told.")
        self._backend = found

    def milliseconds(self, ask: Callable[[], object]) -> float:
        from tests.bench.viewing import processor_seconds

        before = time.process_time() + processor_seconds(self._backend)
        ask()
        return (time.process_time() + processor_seconds(self._backend) - before) * 1000

    def read(self, ask: Callable[[], object]) -> int:
        """Pages of tables and indexes, from memory or not."""
        before = _pages_read()
        ask()
        return _pages_read() - before

    def both(
        self, few: Callable[[], object], many: Callable[[], object], *, rounds: int = ROUNDS
    ) -> tuple[float, int, float, int]:
        """Of many and of few, in turns: the least milliseconds and the pages."""
        times: tuple[list[float], list[float]] = [], []
        reads = [self.read(few), self.read(many)]
        for _ in range(rounds):
            for found, ask in zip(times, (few, many), strict=True):
                found.append(self.milliseconds(ask))
        return min(times[1]), reads[1], min(times[0]), reads[0]


def _pages_read() -> int:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(
            "SELECT sum(heap_blks_read + heap_blks_hit + coalesce(idx_blks_read + idx_blks_hit, 0)"
            " + coalesce(toast_blks_read + toast_blks_hit + tidx_blks_read + tidx_blks_hit, 0))"
            " FROM pg_statio_user_tables"
        )
        (found,) = cursor.fetchone()
        return int(found)


def _lists(small: Shop, large: Shop) -> Iterator[Figure]:
    """Every list of the API: its first page, its middle and its end, with each filter and each pair of them."""
    from tests.factories import api_client, make_key

    meter = Meter()
    few, many = (api_client(make_key(shop.records.payment.merchant)) for shop in (small, large))

    def asking(client: object, address: str) -> Callable[[], object]:
        def ask() -> object:
            reply = client.call("GET", address)  # type: ignore[attr-defined]
            if reply.status_code != 200:
                raise RuntimeError(f"{address}: {reply.status_code} {reply.content[:200]!r}")
            return reply.json()

        return ask

    both = zip(questions(small), questions(large), strict=True)
    for of_few, of_many in both:
        limit = _rows(asking(few, of_few.address(10)))
        asks = asking(few, of_few.address(limit)), asking(many, of_many.address(limit))
        yield Figure(_name(of_many), *meter.both(*asks), times=LIST_RATIO)


def _name(question: Question) -> str:
    return f"GET {question.path}, {question.position}, {question.kind}: {question.shown}"


def _rows(ask: Callable[[], object]) -> int:
    """So many rows are shown of both, so that what differs is finding them."""
    shown: dict[str, list[object]] = ask()  # type: ignore[assignment]
    return max(1, len(shown["data"]))


def _counts(small: Shop, large: Shop) -> Iterator[Figure]:
    """The exact totals of a list, each by itself."""
    from merchants import counting
    from payments.models import PAYMENTS
    from refunds.models import REFUNDS
    from settlements.models import SETTLEMENTS

    meter = Meter()
    for name, counted, statuses in (
        ("payments", PAYMENTS, None),
        ("payments of a status", PAYMENTS, ["completed"]),
        ("refunds", REFUNDS, None),
        ("settlements", SETTLEMENTS, None),
    ):

        def asking(shop: Shop, counted: object = counted, statuses: object = statuses) -> Callable[[], object]:
            own = {"merchant_id": shop.records.payment.merchant_id, "environment": "sandbox", "statuses": statuses}
            return lambda: counting.total(counted, **own)  # type: ignore[arg-type]

        yield Figure(
            f"totalCount of {name}", *meter.both(asking(small), asking(large), rounds=50), most=COUNT_MILLISECONDS
        )


def _pages(small: Shop, large: Shop) -> Iterator[Figure]:
    """Every page of the dashboard."""
    from tests.bench.pages import every_page

    meter = Meter()
    for name, address in every_page().items():
        if address.startswith("/admin"):
            continue
        asks = (lambda: small.view(address)), (lambda: large.view(address))  # noqa: B023 - asked at once
        is_statement = "/statements/" in address  # of many: it has more entries to show
        most, times = (STATEMENT_MILLISECONDS, 0.0) if is_statement else (PAGE_MILLISECONDS, PAGE_RATIO)
        yield Figure(f"page, {name}", *meter.both(*asks), most=most, times=times)


def _operators(small: Shop, large: Shop) -> Iterator[Figure]:
    """The operators' lists, searches, accounting and stories."""
    from tests.bench.pages import OPERATORS, PAGES

    meter = Meter()
    searches = {name: address for name, address in PAGES.items() if address.startswith("/admin")}
    for name, address in (searches | {name: address for name, (address, *_) in OPERATORS.items()}).items():
        asks = (lambda: small.view(address)), (lambda: large.view(address))  # noqa: B023 - asked at once
        yield Figure(name.replace(": ", ", "), *meter.both(*asks, rounds=3), most=ADMIN_MILLISECONDS)


def _files(small: Shop, large: Shop) -> Iterator[Figure]:
    """The statement of a month as a file, in the time and memory that it takes with the processes it starts."""
    meter, process = Meter(), psutil.Process()
    for form, most in (("pdf", PDF_MILLISECONDS), ("csv", 0.0)):
        address = f"/dashboard/statements/file?month={{month_before}}&format={form}"
        small.view(address)
        started, memory = time.monotonic(), process.memory_info().rss
        used = meter.milliseconds(lambda: large.view(address))  # noqa: B023 - asked at once
        grown = (process.memory_info().rss - memory) / 2**20
        setter = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**10
        elapsed = time.monotonic() - started
        yield Figure(
            f"statement of a month as {form}",
            used,
            0,
            most=most,
            note=f"{elapsed:.1f} s, memory +{grown:.0f} MiB, {setter:.0f} MiB at most where it is set",
        )


def _bytes(small: Shop, large: Shop) -> Iterator[Figure]:
    """KiB of each table with its indexes, and of all of them together, for 1,000 payments."""
    from django.db import connection

    payments = large.number + small.number + kept.OTHERS * kept.OF_OTHERS
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(inhparent::regclass::text, relname) AS whole, sum(pg_total_relation_size(relid))::bigint,"
            "   sum(pg_indexes_size(relid))::bigint"
            " FROM pg_stat_user_tables LEFT JOIN pg_inherits ON inhrelid = relid GROUP BY 1 ORDER BY 2 DESC"
        )
        rows = cursor.fetchall()
    whole = sum(size for _, size, _ in rows)
    for name, size, indexes in [("all tables", whole, sum(row[2] for row in rows)), *rows[:12]]:
        kibibytes, of_indexes = (each / 1024 / payments * 1000 for each in (size, indexes))
        yield Figure(f"KiB of {name} for 1,000 payments", kibibytes, 0, note=f"indexes {of_indexes:.0f} KiB")


if __name__ == "__main__":
    sys.exit(main())
