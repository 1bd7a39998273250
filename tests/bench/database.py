"""What a confirmed payment costs, from POST to webhook: time of PostgreSQL beside one bare insert, time of our own
processes, rows, bytes and log. docs/scaling.md reckons by these.

`python -m tests.bench.database` alone: takes half a minute. On a server of DATABASE_URL that preloads
`pg_stat_statements` it prints the dearest statements, with those of triggers.
"""
# ruff: noqa: T201 - its report goes to standard output

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

import psutil

from tests.bench import server
from tests.bench.receiver import HOST, receiver
from tests.bench.report import Line

if TYPE_CHECKING:
    from django.db.backends.utils import CursorWrapper

    from merchants.services import IssuedKey
    from payments.models import Payment
    from tests.factories import ApiClient

PAYMENTS, ROUNDS = 30, 8
"""As many payments as are confirmed within one round of the watcher where business is good."""

GOAL = 23.0
"""60 % of the 39 bare inserts that a confirmed payment took before entries were checked a statement at a time."""
NETWORK, COIN = "ethereum", "USDC"
_BODY = {
    "amount": 49.99,
    "currency": "EUR",
    "cryptocurrency": COIN,
    "network": NETWORK,
    "merchantWallet": "0x8626f6940E2eb28930eFb4CeF49B2d1F2C9C1199",
    "metadata": {"order": "1042", "cart": "c_81f0"},
}

Phases = Mapping[str, float]
"""Milliseconds of processor time for a payment, by what was done."""


@dataclass(frozen=True)
class Round:
    """What a payment cost in a round: time of PostgreSQL and of our own processes, and what it left behind."""

    database: Phases
    processes: Phases
    looks: Mapping[str, tuple[float, float]]
    """Of one request of each kind, in our own process and in PostgreSQL."""
    rows: float
    """Inserted rows of our own tables, those deleted since included."""
    bytes: float
    """Growth of tables and indexes."""
    log: float
    """Bytes of PostgreSQL's log, as a standby receives them; without whole pages after a checkpoint."""


def lines() -> list[Line]:
    found, bare = _measured()
    middle = {phase: median(each.database[phase] for each in found) for phase in found[0].database}
    whole = median(sum(each.database.values()) for each in found)
    ratio = median(sum(each.database.values()) / limit for each, limit in zip(found, bare, strict=True))
    shown = ", ".join(f"{phase} {milliseconds:.1f}" for phase, milliseconds in middle.items())
    return [
        Line(
            "a confirmed payment in PostgreSQL",
            f"{whole:.2f} ms",
            f"{median(bare):.3f} ms a bare insert",
            f"{ratio:.0f}x",
            f"<= {GOAL:.0f}x",
            ratio <= GOAL,
        ),
        Line("of that", shown),
        *_of_processes(found),
    ]


def _of_processes(found: list[Round]) -> list[Line]:
    """The same work in our own processes, here all in one, and what it leaves behind."""
    own = {phase: median(each.processes[phase] for each in found) for phase in found[0].processes}
    shown = ", ".join(f"{phase} {milliseconds:.1f}" for phase, milliseconds in own.items())
    return [
        Line("a confirmed payment in web and workers", f"{sum(own.values()):.2f} ms"),
        Line("of that", shown),
        *(
            Line(f"one look: {name}", "{:.2f} ms, and {:.2f} of PostgreSQL".format(*_medians(found, name)))
            for name in found[0].looks
        ),
        *(
            Line(f"{what} of a confirmed payment", f"{fmean(getattr(each, what) for each in found):,.0f}")
            for what in ("rows", "bytes", "log")
        ),
    ]


def _medians(found: list[Round], look: str) -> list[float]:
    return [median(part) for part in zip(*(each.looks[look] for each in found), strict=True)]


def complete(payments: int, *, between: Callable[[], object]) -> int:
    """Complete payments with three webhooks each, requests logged; returns how many: whole rounds.

    `between` is called after every third round.
    """
    from merchants.request_log.recording import RECORDER

    rounds = -(-payments // PAYMENTS)
    with _business() as (issued, answered):
        for number in range(rounds):
            _round(issued, answered, looks=False)
            if number % 3 == 2:
                between()
    RECORDER.end()
    return rounds * PAYMENTS


@contextmanager
def _business() -> Iterator[tuple[IssuedKey, Callable[[], int]]]:
    """A merchant's key, with three webhooks that are received, and how many were."""
    from config.environments import Environment
    from merchants.services import issue_api_key, open_merchant
    from webhooks.services import register_endpoint

    merchant = open_merchant(name="Database", email="database@example.com")
    issued = issue_api_key(merchant=merchant, environment=Environment.SANDBOX, name="Database")
    with receiver() as (port, answered):
        for event in ("payment.created", "payment.pending", "payment.completed"):
            register_endpoint(
                merchant=merchant,
                environment=Environment.SANDBOX,
                url=f"http://{HOST}:{port}/hook/{event}",
                events=[event],
            )
        yield issued, lambda: answered.value


def _measured() -> tuple[list[Round], list[float]]:
    """By round: the phases of a payment, and a bare insert."""
    rounds, bare = [], []
    with _business() as (issued, answered):
        for turn in range(ROUNDS + 2):
            of_bare = _bare_insert(issued)
            of_payment = _round(issued, answered)
            if turn > 1:  # before, PostgreSQL's caches and plans are new
                bare.append(of_bare)
                rounds.append(of_payment)
    return rounds, bare


def _round(issued: IssuedKey, answered: Callable[[], int], *, looks: bool = True) -> Round:
    from config.environments import Environment
    from merchants import tasks as merchant_tasks
    from payments import tasks
    from payments.chains import registry
    from payments.chains.simulated import control
    from payments.models import Payment
    from tests.factories import ApiClient
    from webhooks.sending import dispatch

    client = ApiClient(issued, SERVER_NAME=server.HOST)
    spent: dict[str, float] = defaultdict(float)
    own: dict[str, float] = defaultdict(float)
    there = _left_behind()

    def timed(phase: str, work: Callable[[], object]) -> None:
        begun, before = time.process_time(), _processor_milliseconds()
        work()
        spent[phase] += (_processor_milliseconds() - before) / PAYMENTS
        own[phase] += 1000 * (time.process_time() - begun) / PAYMENTS

    def create() -> None:
        for _ in range(PAYMENTS):
            if (reply := client.call("POST", "/payments", json_body=_BODY)).status_code != 201:
                raise RuntimeError(reply.content)

    def deliver(number: int) -> None:
        goal = answered() + number
        dispatch.Dispatcher(lambda: answered() >= goal).run(run_seconds=30, idle_seconds=5)

    timed("POST", create)
    made = list(Payment.objects.order_by("-pk")[:PAYMENTS])
    contract = registry.asset(Environment.SANDBOX, NETWORK, COIN).contract
    for payment in made:
        control.pay(NETWORK, recipient=payment.deposit_address, contract=contract, amount=int(payment.due))
    control.mine(NETWORK)
    timed("seen", tasks.watch_networks)
    control.mine(NETWORK, control.deepest_reorg(NETWORK) + 1)
    timed("credited", tasks.watch_networks)
    timed("webhooks", lambda: deliver(3 * PAYMENTS))
    timed("counted", lambda: (merchant_tasks.fold_counts(), tasks.fold_turnover(), tasks.index_payments()))
    _require_completed(made)
    left = [(after - before) / PAYMENTS for before, after in zip(there, _left_behind(), strict=True)]
    return Round(spent, own, _looked_at(client, made) if looks else {}, *left)


def _looked_at(client: ApiClient, made: list[Payment]) -> Mapping[str, tuple[float, float]]:
    """What a payer's page and a shop ask for again and again."""
    looks: dict[str, Callable[[Payment], Any]] = {
        "page": lambda payment: client.get(f"/pay/{payment.public_id}"),
        "status": lambda payment: client.get(f"/pay/{payment.public_id}/status"),
        "GET": lambda payment: client.call("GET", f"/payments/{payment.public_id}"),
    }
    found = {}
    for name, look in looks.items():
        begun, before = time.process_time(), _processor_milliseconds()
        for payment in made:
            if (reply := look(payment)).status_code != 200:
                raise RuntimeError(reply.content)
        own, there = 1000 * (time.process_time() - begun), _processor_milliseconds() - before
        found[name] = (own / PAYMENTS, there / PAYMENTS)
    return found


def _require_completed(payments: list[Payment]) -> None:
    from payments.models import Payment

    found = Payment.objects.filter(pk__in=[each.pk for each in payments], status="completed").count()
    if found != PAYMENTS:
        raise RuntimeError(f"{found} of {PAYMENTS} payments are completed")


def _bare_insert(issued: IssuedKey) -> float:
    from django.db import transaction

    from tests.bench.models import TwinPayment

    before = _processor_milliseconds()
    for _ in range(PAYMENTS):
        with transaction.atomic():
            TwinPayment.objects.create(
                merchant=issued.key.merchant,
                amount="49.99",
                currency="EUR",
                cryptocurrency=COIN,
                network=NETWORK,
                merchant_wallet=_BODY["merchantWallet"],
            )
    return (_processor_milliseconds() - before) / PAYMENTS


LEFT_BEHIND = """
    SELECT sum(n_tup_ins), sum(pg_total_relation_size(relid)), pg_current_wal_insert_lsn() - '0/0'
    FROM pg_stat_user_tables
    WHERE current_database() IS NOT NULL AND relname NOT LIKE 'simulated_chain%' AND relname NOT LIKE '%twinpayment'
"""


def _left_behind() -> list[float]:
    """Rows that were ever inserted, bytes of tables with their indexes, and position of the log."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute(LEFT_BEHIND)
        return [float(each) for each in cursor.fetchone()]


def _processor_milliseconds() -> float:
    """Processor time of all processes of PostgreSQL on this machine; waiting for a disk or a core is not in it."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        [session] = cursor.fetchone()
    postmaster = psutil.Process(session).parent()
    if postmaster is None:
        raise RuntimeError("PostgreSQL is not on this machine")
    spent = postmaster.cpu_times()
    seconds = spent.children_user + spent.children_system
    for process in (postmaster, *postmaster.children()):
        with suppress(FileNotFoundError, ProcessLookupError):
            seconds += int(Path(f"/proc/{process.pid}/schedstat").read_text().split()[0]) / 1e9
    return 1000 * seconds


STATEMENTS = """
    SELECT round((total_exec_time + total_plan_time)::numeric / %(payments)s, 3),
        round(calls::numeric / %(payments)s, 2), toplevel, left(regexp_replace(query, '\\s+', ' ', 'g'), 230)
    FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND query NOT LIKE '%%simulated_chain%%' AND query NOT LIKE '%%twinpayment%%' AND query NOT LIKE '%%pg_stat%%'
    ORDER BY 1 DESC LIMIT 70
"""
FUNCTIONS = "SELECT funcname, calls, total_time, self_time FROM pg_stat_user_functions ORDER BY 3 DESC"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.database", description=__doc__)
    parser.add_argument("--strict", action="store_true", help="fail when the goal is not met")
    is_strict = parser.parse_args().strict
    server.choose_settings()
    with server.database() as database:
        import django

        django.setup()
        from django.core.management import call_command
        from django.db import connection

        from tests.bench.models import TwinPayment

        print(database)
        call_command("migrate", verbosity=0)
        with connection.schema_editor() as editor:
            editor.create_model(TwinPayment)
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('shared_preload_libraries') LIKE '%pg_stat_statements%'")
            is_told = cursor.fetchone()[0]
            if is_told:
                cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
                cursor.execute("SELECT pg_stat_statements_reset()")
            found = lines()
            for line in found:
                print(line)
            if is_told:
                _print(cursor)
    return 1 if is_strict and any(line.met is False for line in found) else 0


def _print(cursor: CursorWrapper) -> None:
    cursor.execute(STATEMENTS, {"payments": PAYMENTS * (ROUNDS + 2)})
    for row in cursor.fetchall():
        print(*row)
    cursor.execute(FUNCTIONS)
    for row in cursor.fetchall():
        print(*row)


if __name__ == "__main__":
    sys.exit(main())
