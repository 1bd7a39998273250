"""A fail-over amid payments: four webs, two workers of each queue, two dispatchers and two beats, on a PostgreSQL that
is killed and whose synchronous standby is promoted.

Every process names all servers in DATABASE_URL and nobody restarts anything. Before, some hundred payments are taken
undisturbed by one web and one worker of each kind, from whose processor time docs/scaling.md reckons, and as many by
all of them, which are to cost little more than that.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import psutil

from config import ids
from config.database.advisory_locks import LockClass
from tests.gauntlet.installation import BEAT, OPTIONS, ROOT, Installation
from tests.gauntlet.postgres_pair import DATABASE, USER, Server
from tests.gauntlet.report import Check, Progress
from tests.gauntlet.shoppers import WALLET, wait_for
from tests.gauntlet.upgrade import HALF_DONE, PREPARE
from tests.ports import free_port
from tests.sending.receivers import Shop

WEBS, PAIRS, BEATS = 4, 2, 2
"""Workers are pairs: one of `webhooks`, which is a dispatcher, and one of all other queues."""

BUYERS = 8
DEARER = 1.5
"""At most times the processor time of a payment that one of each needs, whatever kind of process."""

IDLE_SECONDS, UNDISTURBED, DISTURBED, AFTER = 10.0, 300, 60, 120
"""Payments before the server is killed, then those that are under way around it, and those afterwards."""

LOST_BY_CONTROL = 20
SHORT: dict[str, Any] = {
    "WEBS": 2, "PAIRS": 1, "DEARER": 3.0, "IDLE_SECONDS": 5.0, "UNDISTURBED": 30, "DISTURBED": 10, "AFTER": 20,
    "LOST_BY_CONTROL": 5,
}  # fmt: skip

WEB = [
    sys.executable, "-m", "config.web", "--interface", "wsgi", "--no-ws", "--host", "127.0.0.1", "--workers", "1",
    "--blocking-threads", "256", "--log-level", "warning", "config.wsgi:application",
]  # fmt: skip
WORKER = [sys.executable, "-m", "celery", "--app", "config.celery", "worker", *OPTIONS]
QUEUES = {"dispatcher": "webhooks", "worker": "chain,money,reports"}
SETTINGS = {"SANDBOX_REQUESTS_PER_MINUTE": "100000", "LOG_LEVEL": "WARNING"}
AGAIN = (0, 409, 429, 500, 502, 503)
"""Statuses, 0 for no answer, after which a shop sends the same request again, with its Idempotency-Key."""


@dataclass
class Answer:
    """A payment that was acknowledged: its order, its id, when its last request was sent and when it was answered."""

    order: int
    payment: str
    sent: float
    at: float


class Buyers:
    """Threads that make payments and pay them, each until it is acknowledged, however often it takes."""

    def __init__(self, webs: list[str], keys: list[dict[str, str]]) -> None:
        self._webs, self._keys = webs, keys
        self._orders = iter(range(10**9))
        self._left = 0
        self._lock = threading.Lock()
        self.answers: list[Answer] = []
        self.paid: set[str] = set()
        self.statuses: Counter[int] = Counter()
        self.by_web: Counter[str] = Counter()
        self.refusals: list[str] = []
        self.is_over = False

    @contextmanager
    def buying(self, number: int) -> Iterator[None]:
        """So many more payments are begun by the end of this block, and all of them acknowledged."""
        self._left = number
        threads = [threading.Thread(target=self._buy_on, daemon=True) for _ in range(BUYERS)]
        for thread in threads:
            thread.start()
        yield
        for thread in threads:
            thread.join()

    def _buy_on(self) -> None:
        with httpx.Client(timeout=40) as client:
            while (order := self._next()) is not None:
                self._buy(client, order)

    def _next(self) -> int | None:
        with self._lock:
            if self._left <= 0:
                return None
            self._left -= 1
            return next(self._orders)

    def _buy(self, client: httpx.Client, order: int) -> None:
        key = self._keys[order % len(self._keys)]
        body = {
            "amount": 10, "currency": "USD", "cryptocurrency": "USDC", "network": "polygon", "merchantWallet": WALLET,
            "metadata": {"order": str(order)},
        }  # fmt: skip
        payment, sent = self.send(client, key, "/payments", body)
        if payment is None:
            return
        self.answers.append(Answer(order, payment["id"], sent, time.monotonic()))
        if self.send(client, key, f"/payments/{payment['id']}/simulate", {"scenario": "exact"})[0] is not None:
            self.paid.add(payment["id"])

    def send(self, client: httpx.Client, key: dict[str, str], path: str, body: dict[str, Any]) -> tuple[Any, float]:
        """The record, None where it is refused, and when the request that was answered was sent."""
        headers = {**key, "Idempotency-Key": uuid.uuid4().hex}
        while not self.is_over:
            web, sent = random.choice(self._webs), time.monotonic()
            try:
                reply = client.post(f"{web}/sandbox/v1{path}", json=body, headers=headers)
                status = reply.status_code
            except httpx.HTTPError:
                status = 0
            self.statuses[status] += 1
            if status in AGAIN:
                time.sleep(0.1)
                continue
            self.by_web[web] += 1
            if status >= 400:
                self.refusals.append(f"{path} {reply.text[:200]}")
                return None, sent
            return reply.json(), sent
        return None, time.monotonic()


class Machines:
    """All processes, on whichever of the servers takes writes."""

    def __init__(self, installation: Installation, servers: list[Server]) -> None:
        self._installation, self.servers = installation, servers
        places = ",".join(each.place for each in servers)
        self.environment = {**os.environ, **SETTINGS, "DATABASE_URL": f"postgres://{USER}@{places}/{DATABASE}"}
        self.environment["WEB_PROCESSES"] = str(WEBS)
        self.names: dict[str, list[str]] = {"web": [], "worker": [], "beat": []}
        self.webs: list[str] = []

    def prepare(self) -> list[dict[str, str]]:
        """The tables, and headers of a merchant's keys for each buyer."""
        command = [sys.executable, "-c", PREPARE, str(BUYERS)]
        done = subprocess.run(command, cwd=ROOT, env=self.environment, check=True, stdout=subprocess.PIPE)
        keys = json.loads(done.stdout.splitlines()[-1])
        return [{"Authorization": f"Bearer {public}", "X-Api-Secret": secret} for public, secret in keys]

    def start(self, *, webs: int, pairs: int, beats: int) -> None:
        """Start what is missing to so many of each."""
        for number in range(len(self.names["web"]), webs):
            port = free_port()
            self.webs.append(f"http://127.0.0.1:{port}")
            self._start("web", f"web {number}", [*WEB, "--port", str(port)])
        for number in range(len(self.names["worker"]) // len(QUEUES), pairs):
            for role, queues in QUEUES.items():
                name = f"{role}-{number}"
                self._start("worker", name, [*WORKER, "--queues", queues, "--hostname", f"{name}@localhost"])
        for number in range(len(self.names["beat"]), beats):
            self._start("beat", f"beat {number}", BEAT)
        if not wait_for(lambda: all(self.health(web, "ready")[0] == 200 for web in self.webs)):
            raise RuntimeError(self._installation.log_of("web 0"))

    def _start(self, kind: str, name: str, command: list[str]) -> None:
        self._installation.start(name, command, self.environment)
        self.names[kind].append(name)

    def health(self, web: str, page: str) -> tuple[int, dict[str, Any]]:
        try:
            reply = httpx.get(f"{web}/health/{page}", timeout=5)
            return reply.status_code, reply.json()
        except httpx.HTTPError:
            return 0, {}

    def processor_seconds(self, primary: Server) -> dict[str, float]:
        """By kind of process; beat counts among the workers."""
        found = {"web": 0.0, "worker": 0.0, "PostgreSQL": primary.processor_seconds()}
        for kind, names in self.names.items():
            for name in names:
                process = psutil.Process(self._installation._processes[name].pid)
                for each in [process, *process.children(recursive=True)]:
                    times = each.cpu_times()
                    found["web" if kind == "web" else "worker"] += times.user + times.system
        return found

    def manage(self, *arguments: str) -> tuple[int, str]:
        return self._installation.manage(*arguments, environment=self.environment)

    @property
    def logs(self) -> str:
        return "".join(self._installation.log_of(name) for names in self.names.values() for name in names)


def run(installation: Installation, _chance: random.Random) -> list[Check]:
    progress = Progress()
    servers = [Server(installation.folder, name) for name in ("first", "second", "third")]
    first, second, third = servers
    try:
        first.make()
        first.start()
        first.rows("CREATE DATABASE ballast", "postgres")
        machines = Machines(installation, servers)
        keys = machines.prepare()
        second.copy(first)
        second.start()
        first.rows("ALTER SYSTEM SET synchronous_standby_names = 'standby'", "postgres")
        first.rows("SELECT pg_reload_conf()", "postgres")
        progress.say("two servers, of which the second is synchronous; tables and merchants are made", now=True)
        machines.start(webs=1, pairs=1, beats=1)
        with Shop() as shop:
            return [
                *_undisturbed(machines, first, buyers := Buyers(machines.webs, keys), shop, progress),
                *_failed_over(machines, buyers, shop, progress),
                *_control(machines, buyers, third, progress),
            ]
    finally:
        for server in servers:
            server.kill()


# --- several of each, undisturbed --------------------------------------------------------------------


def _undisturbed(machines: Machines, primary: Server, buyers: Buyers, shop: Shop, progress: Progress) -> list[Check]:
    with httpx.Client(timeout=40) as client:
        for key in buyers._keys:
            buyers.send(client, key, "/webhooks", {"url": shop.url(), "events": ["*"]})
    one, _ = _costs(machines, primary, buyers, shop, "one of each", progress)
    machines.start(webs=WEBS, pairs=PAIRS, beats=BEATS)
    buyers.by_web.clear()
    several, dispatchers = _costs(machines, primary, buyers, shop, "several of each", progress)
    ratios = {kind: several[kind] / one[kind] for kind in one}
    [(beats,)] = primary.rows(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        " AND application_name LIKE 'ballast-beat %'"
    )
    return [
        Check(f"each of {WEBS} webs answers", f"{len(buyers.by_web)}", len(buyers.by_web) == WEBS),
        Check(f"{PAIRS} dispatchers send beside each other", f"{dispatchers}", dispatchers >= PAIRS),
        Check(f"of {BEATS} beats one schedules", f"{beats}", beats == 1),
        Check(
            f"a payment costs at most {DEARER:g} times of what it does with one of each",
            _figures(ratios, ".2f"),
            max(ratios.values()) <= DEARER,
        ),
        *_whole(machines, primary, buyers, shop, "undisturbed", duplicates=0),
    ]


def _costs(
    machines: Machines, primary: Server, buyers: Buyers, shop: Shop, name: str, progress: Progress
) -> tuple[dict[str, float], int]:
    """Milliseconds of processor time of a payment beyond what is spent at rest, and how many dispatchers were seen."""
    wait_for(lambda: _is_started(machines, primary))
    before, begun = machines.processor_seconds(primary), time.monotonic()
    time.sleep(IDLE_SECONDS)
    at_rest = _apart(before, machines.processor_seconds(primary), time.monotonic() - begun)
    before, begun, dispatchers = machines.processor_seconds(primary), time.monotonic(), 0
    with buyers.buying(UNDISTURBED):
        while buyers._left > 0:
            dispatchers = max(dispatchers, _dispatchers(primary))
            time.sleep(1)
    _wait_until_told(buyers, shop)
    seconds = time.monotonic() - begun
    spent = _apart(before, machines.processor_seconds(primary), 1.0)
    each = {kind: 1000 * (spent[kind] - at_rest[kind] * seconds) / UNDISTURBED for kind in spent}
    progress.say(
        f"{name}: {UNDISTURBED} payments in {seconds:.0f} s; processor time of each, in ms: {_figures(each, '.1f')}; "
        f"at rest, cores: {_figures(at_rest, '.3f')}",
        now=True,
    )
    return each, dispatchers


def _is_started(machines: Machines, primary: Server) -> bool:
    """Whether no process loads any more: all together use less than half a core for two seconds."""
    before = machines.processor_seconds(primary)
    time.sleep(2)
    return sum(_apart(before, machines.processor_seconds(primary), 2.0).values()) < 0.5


def _apart(before: dict[str, float], after: dict[str, float], seconds: float) -> dict[str, float]:
    return {kind: (after[kind] - before[kind]) / seconds for kind in after}


def _figures(found: dict[str, float], form: str) -> str:
    return ", ".join(f"{kind} {figure:{form}}" for kind, figure in found.items())


def _dispatchers(primary: Server) -> int:
    held = primary.rows(
        "SELECT classid::bigint, objid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    return len({number for kind, number in held if kind == LockClass.DISPATCHER})


# --- the server dies ---------------------------------------------------------------------------------


def _failed_over(machines: Machines, buyers: Buyers, shop: Shop, progress: Progress) -> list[Check]:
    first, second, _ = machines.servers
    with buyers.buying(2 * DISTURBED + AFTER):
        wait_for(lambda: buyers._left <= DISTURBED + AFTER)
        acknowledged = len(buyers.answers)
        first.kill()
        killed = time.monotonic()
        second.promote()
        promoted = time.monotonic()
        progress.say(
            f"killed amid {acknowledged} acknowledged payments, promoted {promoted - killed:.1f} s later", now=True
        )
        wait_for(lambda: any(each.sent > killed for each in buyers.answers))
    again = min(each.at for each in buyers.answers if each.sent > killed)
    left = "SELECT round(max(extract(epoch FROM leased_until - now()))) FROM payments_scancursor"
    [(lease,)] = second.rows(left)
    _wait_until_told(buyers, shop)
    told = max(each.at for each in tuple(shop.at()))
    progress.say(f"replies by status, 0 for none: {dict(buyers.statuses)}", now=True)
    work = wait_for(lambda: machines.health(machines.webs[0], "work")[0] == 200)
    said = machines.health(machines.webs[0], "work")[1].get("behind")
    return [
        Check(
            "after the kill payments are taken again",
            f"{again - killed:.1f} s after it, {again - promoted:.1f} s after the promotion",
            again - promoted < 30,
        ),
        Check(
            "all are seen, credited and told of within a minute",
            f"{told - killed:.0f} s after the kill; the longest lease of a network's reader had {lease:.0f} s left",
            told - killed < 60,
        ),
        *_whole(machines, second, buyers, shop, "failed over", duplicates=BUYERS * 3),
        Check("no process was started again, and no work is behind", f"{said}", work),
    ]


def _wait_until_told(buyers: Buyers, shop: Shop) -> None:
    def are_told() -> bool:
        return not buyers.paid - {record for record, _ in _completions(shop)}

    assert wait_for(are_told) or wait_for(are_told)


def _completions(shop: Shop) -> list[tuple[str, str]]:
    """The payment and the message of each arrival that tells of a completed payment."""
    found = []
    for each in tuple(shop.at()):
        event = json.loads(each.body)
        if event["type"] == "payment.completed":
            found.append((event["data"]["object"]["id"], each.message_id))
    return found


def _whole(
    machines: Machines, primary: Server, buyers: Buyers, shop: Shop, name: str, *, duplicates: int
) -> list[Check]:
    """Everything that was acknowledged is there once, and was told of."""
    wait_for(lambda: not any(primary.rows(query) != [(0,)] for query in HALF_DONE.values()))
    stored = {ids.PAYMENT.encode(key): (order, status) for key, order, status in primary.rows(
        "SELECT id, metadata ->> 'order', status FROM payments_payment"
    )}  # fmt: skip
    lost = [each for each in buyers.answers if stored.get(each.payment, ("", ""))[0] != str(each.order)]
    orders = Counter(order for order, _ in stored.values())
    completed = sum(stored[each][1] == "completed" for each in buyers.paid if each in stored)
    [(deposits, twice)] = primary.rows(
        "SELECT count(*), count(*) - count(DISTINCT payment_id) FROM payments_deposit WHERE payment_id IS NOT NULL"
    )
    events = {ids.EVENT.encode(key) for (key,) in primary.rows("SELECT id FROM webhooks_event")}
    [(facts,)] = primary.rows("SELECT count(*) FROM (SELECT DISTINCT type, object_id, version FROM webhooks_event) f")
    arrived = Counter(each.message_id for each in tuple(shop.at()))
    told = Counter(record for record, _ in set(_completions(shop)))
    code, said = machines.manage("reconcile", "--full")
    last = said.strip().splitlines()[-1:]
    return [
        Check(
            f"{name}: every acknowledged payment is there",
            f"{len(lost)} of {len(buyers.answers)} lost; refused: {buyers.refusals[:2]}",
            not lost and not buyers.refusals,
        ),
        Check(
            f"{name}: no order has two payments", f"{sum(n - 1 for n in orders.values())}", max(orders.values()) == 1
        ),
        Check(
            f"{name}: each paid one is completed by one deposit",
            f"{completed} of {len(buyers.paid)}, {deposits} deposits, {twice} twice",
            completed == len(buyers.paid) == deposits and not twice,
        ),
        Check(
            f"{name}: each is told of by one event, at most {duplicates} sent twice",
            f"{len(told)}, {sum(told.values()) - len(told)} by two, {sum(arrived.values()) - len(arrived)} sent twice",
            set(told) == buyers.paid
            and sum(told.values()) == len(told)
            and sum(arrived.values()) - len(arrived) <= duplicates,
        ),
        Check(
            f"{name}: events and arrivals are the same",
            f"{len(events)} and {len(arrived)}, {facts} facts",
            events == set(arrived) and facts == len(events),
        ),
        Check(f"{name}: reconcile --full finds nothing", f"exit {code}: {' '.join(last)}"[:80], code == 0),
    ]


# --- without synchronous replication -----------------------------------------------------------------


def _control(machines: Machines, buyers: Buyers, third: Server, progress: Progress) -> list[Check]:
    """The standby of the second server is not waited for, and does not receive the last payments."""
    second = machines.servers[1]
    third.copy(second)
    third.start(primary_conninfo="")
    before, pulse = len(buyers.answers), "SELECT pulse FROM installation_installation"
    with buyers.buying(LOST_BY_CONTROL):
        pass
    [(copied,)] = third.rows(pulse)
    wait_for(lambda: second.rows(pulse) > [(copied,)])  # by which it is recognised; it comes each second
    acknowledged = buyers.answers[before:]
    second.kill()
    third.promote()
    stored = {ids.PAYMENT.encode(key) for (key,) in third.rows("SELECT id FROM payments_payment")}
    lost = sum(each.payment not in stored for each in acknowledged)
    stands = wait_for(lambda: "restored_database" in machines.health(machines.webs[0], "work")[1].get("behind", []))
    progress.say(f"control: {lost} of {len(acknowledged)} lost", now=True)
    return [
        Check("control: a standby that is not waited for loses payments", f"{lost} of {len(acknowledged)}", lost > 0),
        Check("control: nothing is paid by what it has", "it stands still" if stands else "it goes on", stands),
    ]
