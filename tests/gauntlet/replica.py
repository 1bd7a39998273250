"""Every list, report and file that real webs show, from a standby while payments are made: when it has everything, and
while it lags, replays nothing, hangs or is gone."""

from __future__ import annotations

import os
import random
import time
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from signal import SIGCONT, SIGSTOP
from typing import Any

import httpx
import psutil

from config.database.replica import DOWN_SECONDS
from tests.gauntlet.failover import Buyers, Machines
from tests.gauntlet.installation import Installation
from tests.gauntlet.postgres_pair import DATABASE, USER, Server
from tests.gauntlet.report import Check, Progress
from tests.gauntlet.shoppers import WALLET, wait_for

WEBS, LOOKS, LOOKS_IN_TROUBLE = 2, 100, 30
SHORT: dict[str, Any] = {"LOOKS": 20, "LOOKS_IN_TROUBLE": 5}
SLOWEST_SECONDS = 12.0
"""A statement without an answer is given up after four, and a connection after two, once a minute in a process."""

PLACE = {"shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.track": "all"}
FOR_PAGES = """
    SELECT queryid, query, calls FROM pg_stat_statements JOIN pg_database ON pg_database.oid = dbid
    WHERE datname = current_database() AND query LIKE '%FROM%' AND query !~ 'pg_|timeline'
"""
"""Statements since the last reset, but those that ask how far the standby is."""


def _send(signal: int) -> Callable[[Server], object]:
    def send(server: Server) -> None:
        for each in server.processes():
            with suppress(psutil.NoSuchProcess):
                each.send_signal(signal)

    return send


def _set(name: str, value: str) -> Callable[[Server], object]:
    return lambda server: [server.rows(f"ALTER SYSTEM SET {name} = {value}"), server.rows("SELECT pg_reload_conf()")]


TROUBLES: dict[str, tuple[Callable[[Server], object], Callable[[Server], object]]] = {
    "it lags by two seconds": (_set("recovery_min_apply_delay", "2000"), _set("recovery_min_apply_delay", "0")),
    "it replays nothing": (
        lambda server: server.rows("SELECT pg_wal_replay_pause()"),
        lambda server: server.rows("SELECT pg_wal_replay_resume()"),
    ),
    "it hangs": (_send(SIGSTOP), _send(SIGCONT)),
    "it is gone": (Server.kill, lambda server: server.start(**PLACE)),
}


def run(installation: Installation, _chance: random.Random) -> list[Check]:
    progress = Progress()
    servers = primary, standby = [Server(installation.folder, name) for name in ("primary", "standby")]
    try:
        primary.make()
        primary.start(**PLACE)
        primary.rows("CREATE DATABASE ballast", "postgres")
        machines = Machines(installation, [primary])
        keys = machines.prepare()
        primary.rows("CREATE EXTENSION pg_stat_statements")
        readers, addresses = _readers(machines)
        standby.copy(primary)
        standby.start(**PLACE)
        machines.environment["DATABASE_REPLICA_URL"] = f"postgres://{USER}@{standby.place}/{DATABASE}"
        machines.start(webs=WEBS, pairs=1, beats=1)
        progress.say("a primary with a record of each kind, its standby, and webs that read from it", now=True)
        checks = [_read_there(machines.webs[0], standby, readers, addresses)]
        buyers = Buyers(machines.webs, keys)
        with buyers.buying(10**6):
            checks.append(_shown_at_once("it has everything", machines, standby, readers, LOOKS, progress))
            for name, (begin, end) in TROUBLES.items():
                begin(standby)
                try:
                    checks.append(_shown_at_once(name, machines, None, readers, LOOKS_IN_TROUBLE, progress))
                finally:
                    end(standby)
            time.sleep(DOWN_SECONDS)
            checks.append(_shown_at_once("it has come back", machines, standby, readers, LOOKS, progress))
            buyers._left, buyers.is_over = 0, True
        made = f"{len(buyers.answers)} beside it, refused {buyers.refusals[:1]}, replies {dict(buyers.statuses)}"
        code, said = machines.manage("reconcile", "--full")
        return [
            *checks,
            Check("meanwhile others make and pay payments", made, bool(buyers.answers) and not buyers.refusals),
            Check("reconcile --full finds nothing", f"exit {code}: {said.strip().splitlines()[-1:]}"[:80], code == 0),
        ]
    finally:
        for server in servers:
            server.kill()


def _readers(machines: Machines) -> tuple[dict[str, httpx.Client], list[tuple[str, str]]]:
    """Clients of a merchant's key, of its owner and of an operator, and the addresses they read."""
    os.environ.update(machines.environment)
    import django

    django.setup()
    from django.test import Client, override_settings

    from tests.dashboard.addresses import make_records
    from tests.factories import key_headers, make_key, make_member, make_merchant, make_user
    from tests.list_addresses import reports

    merchant = make_merchant()
    with override_settings(SIMULATED_BLOCK_SECONDS=0, ALLOWED_HOSTS=["testserver"]):
        records = make_records(merchant)
    readers = {"api": httpx.Client(headers=key_headers(make_key(merchant)), timeout=60)}
    people = {"owner": make_member(merchant).user, "operator": make_user(is_staff=True, is_superuser=True)}
    for name, user in people.items():
        browser = Client()
        browser.force_login(user)
        cookies = {each.key: each.value for each in browser.cookies.values()}
        readers[name] = httpx.Client(cookies=cookies, timeout=60)
    return readers, list(reports(records))


def _read_there(web: str, standby: Server, readers: dict[str, httpx.Client], addresses: list[tuple[str, str]]) -> Check:
    """Whether the standby runs statements of each address. What the primary runs for it as well is not looked at."""
    wrong, statements = [], 0
    for name, address in addresses:

        def is_read_there(name: str = name, address: str = address) -> bool:
            nonlocal statements
            standby.rows("SELECT pg_stat_statements_reset()")
            status = readers[name].get(f"{web}{address}").status_code
            there = {key: query for key, query, _ in standby.rows(FOR_PAGES)}
            statements += len(there)
            return status == 200 and bool(there)

        if not wait_for(is_read_there):
            wrong.append(address)
    return Check(
        "each list, report and file is read from it",
        f"{len(addresses) - len(wrong)} of {len(addresses)}, by {statements} statements{wrong[:3] or ''}",
        not wrong,
    )


def _shown_at_once(
    name: str,
    machines: Machines,
    standby: Server | None,
    readers: dict[str, httpx.Client],
    looks: int,
    progress: Progress,
) -> Check:
    """Make payments at one web and list them at another at once, by the API and the dashboard."""
    body = {
        "amount": 10, "currency": "USD", "cryptocurrency": "USDC", "network": "polygon", "merchantWallet": WALLET,
    }  # fmt: skip
    if standby:
        standby.rows("SELECT pg_stat_statements_reset()")
    shown, slowest, statuses = 0, 0.0, Counter[int]()
    for number in range(looks):
        one, other = (machines.webs[(number + place) % WEBS] for place in (0, 1))
        headers = {"Idempotency-Key": uuid.uuid4().hex}
        reply = readers["api"].post(f"{one}/sandbox/v1/payments", json=body, headers=headers)
        statuses[reply.status_code] += 1
        for reader, address in (("api", "/sandbox/v1/payments?limit=1"), ("owner", "/dashboard/payments")):
            begun = time.monotonic()
            page = readers[reader].get(f"{other}{address}")
            slowest = max(slowest, time.monotonic() - begun)
            statuses[page.status_code] += 1
            shown += reply.is_success and reply.json()["id"] in page.text
    there = f", {_lists(standby)} from it" if standby else ""
    progress.say(f"{name}: {dict(statuses)}, slowest {slowest:.1f} s{there}", now=True)
    return Check(
        f"{name}: what was made is listed at once",
        f"{shown} of {2 * looks}{there}, slowest {slowest:.1f} s, replies {dict(statuses)}",
        shown == 2 * looks and slowest < SLOWEST_SECONDS and (standby is None or _lists(standby) > 0),
    )


def _lists(standby: Server) -> int:
    """How many lists of payments it was read for since the last reset."""
    return sum(calls for _, query, calls in standby.rows(FOR_PAGES) if "payments_payment" in query and "LIMIT" in query)
