"""What a confirmed payment costs in time of PostgreSQL, from POST to webhook, beside one bare insert.

`python -m tests.bench.database` alone: takes half a minute. On a server of DATABASE_URL that preloads
`pg_stat_statements` it prints the dearest statements, with those of triggers.
"""
# ruff: noqa: T201 - its report goes to standard output

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import psutil

from tests.bench import server
from tests.bench.receiver import HOST, receiver
from tests.bench.report import Line

if TYPE_CHECKING:
    from django.db.backends.utils import CursorWrapper

    from merchants.services import IssuedKey
    from payments.models import Payment

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
"""Milliseconds of PostgreSQL's processor time for a payment, by what was done."""


def lines() -> list[Line]:
    found, bare = _measured()
    middle = {phase: median(each[phase] for each in found) for phase in found[0]}
    whole = median(sum(each.values()) for each in found)
    ratio = median(sum(each.values()) / limit for each, limit in zip(found, bare, strict=True))
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
    ]


def _measured() -> tuple[list[Phases], list[float]]:
    """By round: the phases of a payment, and a bare insert."""
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
        rounds, bare = [], []
        for turn in range(ROUNDS + 2):
            of_bare = _bare_insert(issued)
            of_payment = _round(issued, lambda: answered.value)
            if turn > 1:  # before, PostgreSQL's caches and plans are new
                bare.append(of_bare)
                rounds.append(of_payment)
    return rounds, bare


def _round(issued: IssuedKey, answered: Callable[[], int]) -> Phases:
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

    def timed(phase: str, work: Callable[[], object]) -> None:
        before = _processor_milliseconds()
        work()
        spent[phase] += (_processor_milliseconds() - before) / PAYMENTS

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
    return spent


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


def main() -> None:
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
            for line in lines():
                print(line)
            if is_told:
                _print(cursor)


def _print(cursor: CursorWrapper) -> None:
    cursor.execute(STATEMENTS, {"payments": PAYMENTS * (ROUNDS + 2)})
    for row in cursor.fetchall():
        print(*row)
    cursor.execute(FUNCTIONS)
    for row in cursor.fetchall():
        print(*row)


if __name__ == "__main__":
    main()
