"""`python -m tests.bench.books`: what reconcile, a settlement and the rounds cost with a million payments.

The books are clean, and kept in var/bench like the databases of `tests.bench.scale`: the first run fills them in five
minutes. Seconds are of the processor, Python and PostgreSQL together without its parallel workers, but for a full run,
whose goal is what passes by the clock. Of rounds are shown the pages of tables and indexes that one reads.
"""
# ruff: noqa: T201 - its report goes to standard output

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any

import psutil

from tests.bench import kept, server
from tests.bench.report import HEADING, Line

if TYPE_CHECKING:
    from merchants.models import Merchant

PARTS = ("settlement", "rounds", "quick", "full")
QUICK_SECONDS, FULL_SECONDS = 10.0, 300.0
SETTLEMENT_SECONDS, SETTLEMENT_MEMORY, PREVIEW_MILLISECONDS = 8.0, 50.0, 200.0
ROUND_PAGES = 1_000
"""Of a round without work. Reading the payments of these books takes fifty times as many."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.books", description=__doc__)
    parser.add_argument("--payments", type=int, default=1_000_000)
    parser.add_argument("--only", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--fresh", action="store_true", help="fill the books anew")
    parser.add_argument("--strict", action="store_true", help="fail when a goal is missed")
    arguments = parser.parse_args()
    server.choose_settings()
    sources = ("million.py", "bookkeeping.py")

    def fill() -> str:
        return _fill(arguments.payments)

    with kept.filled(f"ballast_books_{arguments.payments}", sources, fill, is_fresh=arguments.fresh) as key:
        from django.test import override_settings

        from merchants.models import Merchant

        merchant = Merchant.objects.get(pk=key)
        measures: dict[str, Callable[[Merchant], Iterator[Line]]] = {
            "settlement": _settlement, "rounds": _rounds, "quick": _quick, "full": _full,
        }  # fmt: skip
        print(f"{arguments.payments:,} payments; load {os.getloadavg()[1]:.0f}, {server.cores()} cores\n{HEADING}")
        missed = 0
        with override_settings(**{**kept.QUIET, "SIMULATED_BLOCK_SECONDS": 2.0}):
            for part in arguments.only.split(","):
                for line in measures[part](merchant):
                    print(line, flush=True)
                    missed += line.met is False
    return 1 if arguments.strict and missed else 0


def _fill(payments: int) -> str:
    from django.test import override_settings

    from tests.bench.bookkeeping import keep_books

    bar = kept.Bar(f"books of {payments:,} payments")
    with override_settings(**kept.QUIET):
        merchant = keep_books(payments, bar.show)
    kept.vacuum()
    bar.show("filled", 1.0)
    return str(merchant.pk)


@dataclass
class Use:
    """What something used: seconds of our processor, of PostgreSQL's and of the clock; MiB of memory; pages read."""

    own: float = 0.0
    database: float = 0.0
    elapsed: float = 0.0
    memory: float = 0.0
    pages: int = 0

    @property
    def processor(self) -> float:
        return self.own + self.database


@contextmanager
def used() -> Iterator[Use]:
    """Measures what is done inside. Memory is the most that it was more at any time."""
    from tests.bench.scale import _pages_read
    from tests.bench.viewing import backend, processor_seconds

    process, use, done = psutil.Process(), Use(), threading.Event()
    if (postgres := backend()) is None:
        raise SystemExit("PostgreSQL is not on this machine: what its processor does cannot be told.")
    memory = process.memory_info().rss

    def watch() -> None:
        while not done.wait(0.05):
            use.memory = max(use.memory, (process.memory_info().rss - memory) / 2**20)

    watching = threading.Thread(target=watch)
    pages = _pages_read()
    own, database, clock = time.process_time(), processor_seconds(postgres), time.monotonic()
    watching.start()
    try:
        yield use
    finally:
        use.own, use.elapsed = time.process_time() - own, time.monotonic() - clock
        use.database = processor_seconds(postgres) - database
        done.set()
        watching.join()
        use.pages = _pages_read() - pages


@contextmanager
def undone() -> Iterator[None]:
    """What is done inside is taken back: the books stay as they are."""
    from django.db import connection, transaction

    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = 0")
        yield
        transaction.set_rollback(True)


def _settlement(merchant: Merchant) -> Iterator[Line]:
    """A preview; and a run that takes all that is unsettled, taken back afterwards."""
    from django.utils import timezone

    from merchants.models import MerchantSettings
    from settlements.services import preview, run_now

    chosen = MerchantSettings.objects.get(merchant=merchant, environment="sandbox")
    preview(merchant, chosen, timezone.now())
    with used() as use:
        planned = preview(merchant, chosen, timezone.now()).plan.settlements
    seconds = f"{use.processor * 1000:.0f} ms, elapsed {use.elapsed * 1000:.0f} ms, {use.pages:,} pages"
    goal = f"<= {PREVIEW_MILLISECONDS:g} ms"
    yield Line("preview of a settlement", seconds, "", "", goal, use.processor * 1000 <= PREVIEW_MILLISECONDS)
    with undone():
        with used() as use:
            run = run_now(merchant=merchant, environment="sandbox", requested_by="the benchmark")
        made = {(each.network, each.currency): (int(each.amount), each.payment_count) for each in run.settlements.all()}
    foreseen = {(each.network, each.currency): (each.totals.amount, each.payment_count) for each in planned}
    if made != foreseen:
        raise SystemExit(f"settled {made}, foreseen {foreseen}")
    payments = sum(count for _, count in made.values())
    figure = f"{use.database:.1f} s of PostgreSQL, elapsed {use.elapsed:.1f} s"
    goal = f"<= {SETTLEMENT_SECONDS:g} s"
    yield Line(f"settlement of {payments:,} payments", figure, "", "", goal, use.database <= SETTLEMENT_SECONDS)
    yield _memory("its memory", use)
    kept.vacuum()  # of the rows that are taken back


def _memory(name: str, use: Use) -> Line:
    goal = f"<= {SETTLEMENT_MEMORY:g} MiB more"
    return Line(name, f"+{use.memory:.1f} MiB", "", "", goal, use.memory <= SETTLEMENT_MEMORY)


def _rounds(merchant: Merchant) -> Iterator[Line]:
    """What beat reads to know which tasks have work; and the rounds in which windows end, of which none has."""
    from config.celery import app
    from config.periodic import due_work
    from payments.deposits.crediting import expire_due

    app.loader.import_default_modules()
    due_work.with_work()
    for name, look in (("which tasks have work", due_work.with_work), ("windows that end", expire_due)):
        with used() as use:
            look()
        yield _round(name, use.pages)


def _round(name: str, pages: int) -> Line:
    return Line(name, f"{pages:,} pages", "", "", f"<= {ROUND_PAGES:,} pages", pages <= ROUND_PAGES)


def _quick(merchant: Merchant) -> Iterator[Line]:
    for name in ("reconcile --quick", "the next of them"):
        use, said = _reconcile()
        figure = f"{use.processor:.1f} s, elapsed {use.elapsed:.1f} s, {said}"
        yield Line(name, figure, "", "", f"<= {QUICK_SECONDS:g} s", use.processor <= QUICK_SECONDS)


def _full(merchant: Merchant) -> Iterator[Line]:
    use, said = _reconcile("--full")
    figure = f"elapsed {use.elapsed:.0f} s, {use.own:.0f} s ours, {use.database:.0f} s PostgreSQL"
    yield Line("reconcile --full", figure, said, "", f"<= {FULL_SECONDS:g} s", use.elapsed <= FULL_SECONDS)
    yield _memory("its memory", use)


def _reconcile(*arguments: Any) -> tuple[Use, str]:
    """What a run used, and what it says at the end, less the time."""
    from django.core.management import call_command

    out = StringIO()
    with used() as use:
        try:
            call_command("reconcile", *(arguments or ("--quick",)), stdout=out, no_color=True)
        except SystemExit as stop:
            out.write(f"exit {stop.code}")
    *_, last = out.getvalue().strip().splitlines()
    return use, last.split(":")[0]


if __name__ == "__main__":
    sys.exit(main())
