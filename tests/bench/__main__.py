"""`python -m tests.bench`: the product's main requests beside bare twins, in interleaved rounds.

Takes about six minutes, and twice as long again for what a payment takes (tests.bench.database) and for the pages
(tests.bench.pages), which each have a database of their own.
DATABASE_URL and REDIS_URL are used when they are set; the database is one of its own.
"""
# ruff: noqa: T201 - its report goes to standard output

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import psutil

from tests.bench import server
from tests.bench.load import CONNECTIONS, Load, LoadGenerator, request_bytes

if TYPE_CHECKING:
    from merchants.services import IssuedKey
    from tests.bench.report import Line

POST_GOAL, GET_GOAL, LIST_GOAL = 0.60, 0.90, 0.40
"""Beside the thin twins, and of the list beside GET."""
TWIN_POST_GOAL, TWIN_GET_GOAL = 0.60, 0.90
LOG_GOAL = 0.97
TAIL_GOAL = 3.0
MERCHANTS = 100
"""Who write at the same time, where locks are looked for: those of one merchant, and so many."""

BODIES = [
    {
        "amount": 49.99,
        "currency": "EUR",
        "cryptocurrency": coin,
        "network": network,
        "merchantWallet": wallet,
        "redirectUrl": "https://shop.example.com/thanks",
        "metadata": {"order": "1042", "cart": "c_81f0"},
    }
    for network, coin, wallet in (
        ("polygon", "USDC", "0x8626f6940E2eb28930eFb4CeF49B2d1F2C9C1199"),
        ("stellar", "USDC", "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"),
        ("ethereum", "DAI", "0x8626f6940E2eb28930eFb4CeF49B2d1F2C9C1199"),
    )
]


@dataclass(frozen=True)
class Target:
    """One kind of request: what is sent in turn, and the status that must come back."""

    name: str
    requests: Sequence[bytes]
    status: int


def main() -> int:
    arguments = _arguments()
    as_called = dict(os.environ)
    server.choose_settings()
    started = time.monotonic()
    with server.database() as database:
        lines_are_met = _run(arguments, database)
    if arguments.requests:
        return 1 if arguments.strict and not lines_are_met else 0
    for module in ("tests.bench.database", "tests.bench.pages"):
        print(flush=True)
        part = [sys.executable, "-m", module, *(["--strict"] if arguments.strict else [])]
        lines_are_met = subprocess.run(part, env=as_called, check=False).returncode == 0 and lines_are_met
    print(f"\n{time.monotonic() - started:.0f} s in all")
    return 1 if arguments.strict and not lines_are_met else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="interleaved rounds of all requests (default 10)")
    parser.add_argument("--seconds", type=float, default=2.5, help="of each measurement (default 2.5)")
    parser.add_argument("--requests", action="store_true", help="only what is sent over HTTP: two minutes")
    parser.add_argument("--strict", action="store_true", help="fail when a goal is not met")
    return parser.parse_args()


def _run(arguments: argparse.Namespace, database: str) -> bool:
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection

    from payments.models import Payment
    from tests.bench import costs, memory, painting, reading, report, starting, stellar, telling, waits, webhooks
    from tests.bench.models import TwinPayment

    print(f"{_machine()}; {database}; {'Redis' if os.environ.get('REDIS_URL') else 'no Redis'}; granian, WSGI,")
    print(f"{server.cores()} workers of one thread; {CONNECTIONS} connections from the same machine")
    if (load := os.getloadavg()[0]) > 0.5 * server.cores():
        print(f"The machine is busy (load {load:.1f}): figures of this run say little, ratios not much more.")
    call_command("migrate", verbosity=0)
    with connection.schema_editor() as editor:
        editor.create_model(TwinPayment)
    issued = _open_merchant()
    costs_lines = [*costs.qr_lines(), costs.key_line(issued.key.public_key, issued.secret)]
    with server.server() as running:
        generator = LoadGenerator(server.HOST, running.port, running.processor_seconds)
        loads = _measure(generator, _targets(issued), arguments)
        others = [_open_merchant(number) for number in range(1, MERCHANTS)]
        waits_lines = waits.lines(generator, BODIES[0], {"a merchant": [issued], f"{MERCHANTS}": [issued, *others]})
        payment = Payment.objects.latest("id").public_id
        address = f"http://{server.HOST}:{running.port}/pay/{payment}"
        painted = [] if arguments.requests else painting.lines(address)
    memory_line = memory.line(issued)

    tail = median(load.percentile(99) / load.percentile(50) for load in loads["POST"])
    lines = [
        report.ratio_line("POST /payments", loads["POST"], "thin insert", loads["thin insert"], POST_GOAL),
        report.ratio_line("POST /payments", loads["POST"], "bare insert", loads["bare insert"], TWIN_POST_GOAL),
        report.ratio_line("GET /payments/:id", loads["GET"], "thin select", loads["thin select"], GET_GOAL),
        report.ratio_line("GET /payments/:id", loads["GET"], "bare select", loads["bare select"], TWIN_GET_GOAL),
        report.ratio_line("GET /payments?limit=100", loads["list"], "GET /payments/:id", loads["GET"], LIST_GOAL),
        report.ratio_line(
            "GET /payments?limit=100", loads["list"], "thin select", loads["thin select"], GET_GOAL * LIST_GOAL
        ),
        report.ratio_line("POST with the request log", loads["POST"], "without", loads["POST unlogged"], LOG_GOAL),
        report.ratio_line("GET with the request log", loads["GET"], "without", loads["GET unlogged"], LOG_GOAL),
        report.Line(
            "POST /payments p99 / p50", f"{tail:.1f}", "", f"{tail:.1f}x", f"<= {TAIL_GOAL:.1f}x", tail <= TAIL_GOAL
        ),
        *(report.Line(name, report.loads_figure(loads[name])) for name in loads if name.endswith(("insert", "select"))),
        *waits_lines,
        *costs_lines,
        memory_line,
    ]
    print(f"\n{report.HEADING}")
    is_met = _show(lines)
    if not arguments.requests:
        is_met = _show(painted) and is_met
        _work_off()
        for part in (telling, stellar, webhooks, reading, starting):  # reading leaves 100,000 payments
            is_met = _show(part.lines()) and is_met
    return is_met


def _work_off() -> None:
    """Do what the background would have done for all these payments: else it is done while the rest is measured."""
    from merchants.counting import fold_counts
    from payments import tasks
    from payments.dashboard.search import indexing

    fold_counts(batch=1_000_000)
    tasks.fold_turnover()
    while indexing.index_payments() == indexing.BATCH:
        pass


def _show(lines: Iterable[Line]) -> bool:
    """Print what was measured, at once, as what comes after it may fail; whether each goal is met."""
    are_met = True
    for line in lines:
        print(line, flush=True)
        are_met = are_met and line.met is not False
    return are_met


def _machine() -> str:
    memory = psutil.virtual_memory().total / 2**30
    return f"{server.cores()} cores, {memory:.0f} GiB, Python {sys.version.split()[0]}"


def _open_merchant(number: int = 0) -> IssuedKey:
    from config.environments import Environment
    from merchants.services import issue_api_key, open_merchant

    merchant = open_merchant(name="Benchmark", email=f"benchmark{number}@example.com")
    return issue_api_key(merchant=merchant, environment=Environment.SANDBOX, name="Benchmark")


def _targets(issued: IssuedKey) -> list[Target]:
    """In the order of a round. What is read is filled in once something has been written."""
    headers = {"Authorization": f"Bearer {issued.key.public_key}", "X-Api-Secret": issued.secret}
    bodies = [json.dumps(body).encode() for body in BODIES]
    return [
        Target("thin insert", [request_bytes("POST", "/thin/twin/payments", headers, body) for body in bodies], 201),
        Target("bare insert", [request_bytes("POST", "/twin/payments", headers, body) for body in bodies], 201),
        Target("POST", [request_bytes("POST", "/sandbox/v1/payments", headers, body) for body in bodies], 201),
        Target(
            "POST unlogged",
            [request_bytes("POST", "/unlogged/sandbox/v1/payments", headers, body) for body in bodies],
            201,
        ),
        Target("thin select", [request_bytes("GET", "/thin/twin/payments/{id}", headers)], 200),
        Target("bare select", [request_bytes("GET", "/twin/payments/{id}", headers)], 200),
        Target("GET", [request_bytes("GET", "/sandbox/v1/payments/{id}", headers)], 200),
        Target("GET unlogged", [request_bytes("GET", "/unlogged/sandbox/v1/payments/{id}", headers)], 200),
        Target("list", [request_bytes("GET", "/sandbox/v1/payments?limit=100", headers)], 200),
    ]


def _measure(
    generator: LoadGenerator, targets: Sequence[Target], arguments: argparse.Namespace
) -> dict[str, list[Load]]:
    from merchants.counting import fold_counts

    loads: dict[str, list[Load]] = defaultdict(list)
    for turn in range(arguments.rounds + 1):  # the first is the warm-up, and fills the tables
        shown = f"round {turn} of {arguments.rounds}" if turn else "warm-up"
        print(f"{shown}:", end=" ", flush=True)
        for target in targets:
            requests = _with_ids(target)
            fold_counts(batch=1_000_000)  # as the background task does every five seconds
            load = generator.measure(requests, status=target.status, seconds=arguments.seconds if turn else 1.5)
            print(f"{target.name} {load.per_second:.0f}/s", end="  ", flush=True)
            if turn:
                loads[target.name].append(load)
        print(flush=True)
    return loads


def _with_ids(target: Target) -> list[bytes]:
    """The requests, with ids of the rows written last in place of `{id}`."""
    from payments.models import Payment
    from tests.bench.models import TwinPayment

    (first, *_) = target.requests
    if b"{id}" not in first:
        return list(target.requests)
    if target.name.startswith("GET"):
        shown = [payment.public_id for payment in Payment.objects.order_by("-pk")[:500]]
    else:
        shown = [str(payment.pk) for payment in TwinPayment.objects.order_by("-pk")[:500]]
    return [first.replace(b"{id}", each.encode()) for each in shown]


if __name__ == "__main__":
    sys.exit(main())
