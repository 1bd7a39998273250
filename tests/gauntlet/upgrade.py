"""An upgrade amid payments: old processes go on while new migrations run, then new ones take over what is half done.

Then back again: old processes take over from the new ones, on the new tables. Payers look at their pages fifty times a
second all the while.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from tests.gauntlet.installation import BEAT, OPTIONS, ROOT, Installation
from tests.gauntlet.report import Check, Progress, Skipped
from tests.gauntlet.shoppers import Shoppers, wait_for
from tests.ports import free_port
from tests.sending.receivers import Shop

UPGRADES = 8
"""At most so many steps from the newest release to this folder, over the newest commits that added migrations."""

OLD = ""
"""A commit to begin from, instead of the newest release."""

SHOPPERS = 6
BEFORE, OLD_ALONE, NEW_ALONE, BACK_ALONE = 3, 12, 6, 6
"""Payments that are paid and refunded before the migrations, after them by the old processes, by the new ones, and by
the old ones once they are back."""

READS_PER_SECOND = 50
CONTROL_SECONDS = 4.0

SHORT: dict[str, Any] = {
    "UPGRADES": 1, "OLD_ALONE": 4, "NEW_ALONE": 3, "BACK_ALONE": 2, "READS_PER_SECOND": 20, "CONTROL_SECONDS": 2.0,
}  # fmt: skip

WEB = [
    sys.executable, "-m", "granian", "--interface", "wsgi", "--no-ws", "--host", "127.0.0.1", "--workers", "1",
    "--blocking-threads", "1", "--log-level", "warning", "config.wsgi:application",
]  # fmt: skip
WORKER = [
    sys.executable, "-m", "celery", "--app", "config.celery", "worker", "--queues", "chain,webhooks,money,reports",
    *OPTIONS,
]  # fmt: skip

PREPARE = """
import io, json, sys, django
django.setup()
from django.core.management import call_command
from config.environments import Environment
from merchants.services import issue_api_key, open_merchant
call_command("migrate", verbosity=0)
call_command("stock_sandbox", verbosity=0, stdout=io.StringIO())
keys = []
for number in range(int(sys.argv[1])):
    merchant = open_merchant(name=f"Merchant {number}", email=f"merchant{number}@example.com")
    issued = issue_api_key(merchant=merchant, environment=Environment.SANDBOX, name="gauntlet")
    keys.append((issued.key.public_key, issued.secret))
print(json.dumps(keys))
"""
"""Run by old code."""

NOT_NULL = """
    ALTER TABLE payments_payment ADD COLUMN added varchar(10) DEFAULT '' NOT NULL;
    ALTER TABLE payments_payment ALTER COLUMN added DROP DEFAULT;
"""
"""What Django makes of a new field without a default of the database."""

GIT = ("git", "-c", "safe.directory=*")
"""Also where the folder is somebody else's, as in a container of CI."""

PROCESSES = ("worker", "beat", "web")
"""In the order in which docs/upgrading.md exchanges them."""

PAID = "SELECT count(*) FROM payments_payment WHERE status IN ('partially_refunded', 'refunded')"
REFUNDED = "SELECT count(*) FROM refunds_refund WHERE status = 'completed'"
SETTLED = "SELECT count(*) FROM settlements_settlement WHERE status = 'completed'"
SETTLEMENTS = "SELECT count(*) FROM settlements_settlement"
PAYOUTS = "SELECT count(*) FROM transfers_payout"
EVENTS = "SELECT count(*) FROM webhooks_event"
HALF_DONE = {
    "transfers": "SELECT count(*) FROM transfers_transfer WHERE finished_at IS NULL",
    "payments to assess": "SELECT count(*) FROM payments_payment WHERE assess_at IS NOT NULL",
    "refunds": "SELECT count(*) FROM refunds_refund WHERE status NOT IN ('completed', 'failed', 'cancelled')",
    "settlements": "SELECT count(*) FROM settlements_settlement WHERE status = 'pending'",
    "deliveries": "SELECT count(*) FROM webhooks_delivery WHERE status = 'pending'",
}


class Version:
    """The processes of one version of the code."""

    def __init__(self, installation: Installation, name: str, code: Path) -> None:
        self.installation, self.name, self.code = installation, name, code
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self, *processes: str) -> None:
        """Return once its web process answers, if that is among them."""
        commands = {
            "worker": [*WORKER, "--hostname", f"{self.name}@localhost"],
            "beat": BEAT,
            "web": [*WEB, "--port", str(self.port)],
        }
        for process in processes:
            self.installation.start(f"{self.name} {process}", commands[process], code=self.code)
        if "web" in processes and not wait_for(lambda: self.is_ready("live")):
            raise RuntimeError(self.log)

    def stop(self, *processes: str) -> None:
        """Each ends what it has in hand."""
        for process in processes:
            self.installation.stop(f"{self.name} {process}")

    @property
    def log(self) -> str:
        return "".join(self.installation.log_of(f"{self.name} {process}") for process in PROCESSES)

    def is_ready(self, page: str = "ready") -> bool:
        try:
            return bool(urllib.request.urlopen(f"{self.url}/health/{page}", timeout=5).status == 200)  # noqa: S310 - our own
        except OSError:
            return False


def run(installation: Installation, _chance: random.Random) -> list[Check]:
    upgrades = _upgrades()
    progress = Progress()
    with ExitStack() as stack:
        shop = stack.enter_context(Shop())
        first = _checked_out(installation, upgrades[0][0])
        shoppers = Shoppers(shop, _prepare(first), READS_PER_SECOND)
        figures, logs = [], ""
        for number, (old, new) in enumerate(upgrades):
            before = Version(installation, f"{number} old", _checked_out(installation, old))
            after = Version(installation, f"{number} new", _checked_out(installation, new))
            before.start(*PROCESSES)
            if number == 0:
                shoppers.turn_to(before.url)
                shoppers.register()
            figures.append(_upgrade(before, after, shoppers, progress))
            progress.say(f"{_name(old)} to {_name(new)}: {figures[-1]}", now=True)
            logs += before.log + after.log
            if number < len(upgrades) - 1:
                before.stop(*PROCESSES)
        checks = _checks_of(installation, shop, shoppers, figures, logs)
        checks.append(_control(installation, shoppers))
    return checks


@dataclass
class Figure:
    """What an upgrade was like."""

    migrating_seconds: float
    migrated: bool
    is_ready: bool
    slowest_seconds: float
    old_alone: int
    is_settled: bool
    half_done: int
    back_alone: int
    """Journeys by the old processes once they had taken over again."""
    requests_per_second: float

    def __str__(self) -> str:
        return (
            f"migrations took {self.migrating_seconds:.1f} s, the slowest answer {self.slowest_seconds:.2f} s; "
            f"{self.old_alone} journeys by old processes after them; {self.half_done} half done when those ended; "
            f"{self.back_alone} by old ones again; {self.requests_per_second:.0f} requests a second"
        )


def _upgrade(before: Version, after: Version, shoppers: Shoppers, progress: Progress) -> Figure:
    """With the old processes running, and leave them running again."""
    shoppers.turn_to(before.url)
    begun = time.monotonic()
    shoppers.start()
    wait_for(lambda: shoppers.ended(begun) >= BEFORE)
    progress.say(f"{shoppers.ended(begun)} journeys before the migrations", now=True)
    migrating = time.monotonic()
    code, said = before.installation.manage("migrate", "--no-input", code=after.code)
    migrated = time.monotonic()
    if code:
        progress.say(said, now=True)
    with shoppers.all_refunded():
        settled, told = before.installation.manage("run_settlements", "--now", code=before.code)
    if settled:
        progress.say(told, now=True)
    wait_for(lambda: shoppers.ended(migrated) >= OLD_ALONE)
    old_alone, is_ready = shoppers.ended(migrated), before.is_ready()
    after.start("worker", "beat")
    half_done = sum(each.ended is None for each in shoppers.journeys)
    before.stop("worker", "beat")
    after.start("web")
    shoppers.turn_to(before.url, after.url)
    mixed = time.monotonic()
    wait_for(lambda: shoppers.ended(mixed) > 0)
    shoppers.turn_to(after.url)
    before.stop("web")
    stopped = time.monotonic()
    wait_for(lambda: shoppers.ended(stopped) >= NEW_ALONE)
    back_alone = _go_back(before, after, shoppers)
    shoppers.stop()
    return Figure(
        migrated - migrating,
        code == 0,
        is_ready,
        shoppers.slowest(migrating, migrated),
        old_alone,
        settled == 0,
        half_done,
        back_alone,
        sum(shoppers.statuses(begun).values()) / (time.monotonic() - begun),
    )


def _go_back(before: Version, after: Version, shoppers: Shoppers) -> int:
    """Web first, as docs/upgrading.md says; how many journeys old processes alone then ended."""
    before.start("web")
    shoppers.turn_to(before.url, after.url)
    shoppers.turn_to(before.url)
    after.stop("web")
    before.start("worker", "beat")
    after.stop("worker", "beat")
    back = time.monotonic()
    wait_for(lambda: shoppers.ended(back) >= BACK_ALONE)
    return shoppers.ended(back)


def _checks_of(
    installation: Installation, shop: Shop, shoppers: Shoppers, figures: list[Figure], logs: str
) -> list[Check]:
    is_done = wait_for(lambda: not _half_done(installation))
    half_done = "nothing" if is_done else f"{_half_done(installation)}"
    statuses = shoppers.statuses()
    old_alone = min(each.old_alone for each in figures)
    paid, refunded = _count(installation, PAID), _count(installation, REFUNDED)
    settled, settlements = _count(installation, SETTLED), _count(installation, SETTLEMENTS)
    payouts, events = _count(installation, PAYOUTS), _count(installation, EVENTS)
    told = len({each.message_id for each in shop.at()})
    payments, refunds = len(shoppers.payments), len(shoppers.refunds)
    faults = logs.count("Traceback")
    exit_code, said = installation.manage("reconcile", "--full")
    last = said.strip().splitlines()[-1:]
    return [
        Check("the new migrations run", f"{len(figures)} upgrades", all(each.migrated for each in figures)),
        Check(
            "every request is answered by 200 or 201",
            " ".join([_shown(statuses), *shoppers.refusals()[:5]]),
            not statuses.keys() - {200, 201},
        ),
        Check(
            "the old web stays ready under the new tables",
            f"{sum(each.is_ready for each in figures)} of {len(figures)}",
            all(each.is_ready for each in figures),
        ),
        Check(
            f"old processes alone do {OLD_ALONE} journeys after the migrations", f"{old_alone}", old_alone >= OLD_ALONE
        ),
        Check(
            f"old processes take over again, and do {BACK_ALONE} journeys on the new tables",
            f"{min(each.back_alone for each in figures)}",
            all(each.back_alone >= BACK_ALONE for each in figures),
        ),
        Check("every payment is paid and refunded in part, once", f"{paid} of {payments}", paid == payments),
        Check("every refund is paid", f"{refunded} of {refunds}", refunded == refunds == payments),
        Check(
            "every settlement that old code made is paid",
            f"{settled} of {settlements}",
            settled == settlements > 0 and all(each.is_settled for each in figures),
        ),
        Check(
            "no payout is there that nobody asked for",
            f"{payouts - refunds - settlements}",
            payouts == refunds + settlements,
        ),
        Check("every event is delivered", f"{told} of {events}", told == events),
        Check("nothing is left half done", half_done, is_done),
        Check("no process logged a traceback", f"{faults}", faults == 0),
        Check("reconcile --full finds nothing wrong", f"exit {exit_code}: {' '.join(last)}"[:100], exit_code == 0),
    ]


def _control(installation: Installation, shoppers: Shoppers) -> Check:
    """A migration that the processes which run do not know of."""
    with _connected(installation) as connection:
        connection.execute(NOT_NULL)
    since = time.monotonic()
    shoppers.start()
    time.sleep(CONTROL_SECONDS)
    shoppers.stop()
    statuses = shoppers.statuses(since)
    return Check("control: a column without a default fails requests", _shown(statuses), statuses[500] > 0)


# --- versions ----------------------------------------------------------------------------------------


def _upgrades() -> list[tuple[str, str]]:
    """Pairs of commits, before and after new migrations, oldest first; empty text is this folder as it is."""
    try:
        # The newest release is the commit that gave the changelog its newest date.
        begin = (
            OLD or _git("log", "-n", "1", "--format=%H", "-G", r"^## [0-9.]+ \([0-9-]+\)", "--", "CHANGELOG.md").strip()
        )
        begin = _git("rev-parse", "--verify", "--quiet", f"{begin}^{{commit}}").strip()
        added = _git("log", "--diff-filter=A", "--format=%H", f"{begin}..HEAD", "--", "*/migrations/0*.py").split()
        after = [*reversed(added), *[""] * bool(_git("status", "--porcelain", "--", "*/migrations/0*.py"))][-UPGRADES:]
        before = [f"{commit}^" if commit else "HEAD" for commit in after[1:]]
        before = [
            begin,
            *(_git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}").strip() for commit in before),
        ]
    except (OSError, subprocess.CalledProcessError) as error:
        reason = "the history of git since the newest release is not here (a shallow clone?): "
        raise Skipped(reason + str(getattr(error, "stderr", "") or error).strip()) from None
    return list(zip(before, [*after[: len(before) - 1], ""], strict=True))


def _git(*arguments: str) -> str:
    return subprocess.run([*GIT, *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def _checked_out(installation: Installation, commit: str) -> Path:
    if not commit:
        return ROOT
    folder = installation.folder / "code" / commit
    if not folder.exists():
        folder.mkdir(parents=True)
        archive = subprocess.run([*GIT, "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    return folder


def _name(commit: str) -> str:
    return commit[:10] or "this folder"


def _prepare(code: Path) -> list[dict[str, str]]:
    """Make the tables and a merchant for each shopper by old code; return the headers of their API keys."""
    done = subprocess.run([sys.executable, "-c", PREPARE, str(SHOPPERS)], cwd=code, check=True, stdout=subprocess.PIPE)
    keys = json.loads(done.stdout.splitlines()[-1])
    return [{"Authorization": f"Bearer {public}", "X-Api-Secret": secret} for public, secret in keys]


# --- steps -------------------------------------------------------------------------------------------


def _connected(installation: Installation) -> psycopg.Connection[Any]:
    if installation.postgres is not None:
        return installation.postgres.connect()
    return psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)


def _count(installation: Installation, query: str) -> int:
    with _connected(installation) as connection:
        [number] = connection.execute(query.encode()).fetchone() or [0]
    return int(number)


def _half_done(installation: Installation) -> dict[str, int]:
    """What is not ended of each kind, without those of which there is nothing."""
    return {kind: number for kind, query in HALF_DONE.items() if (number := _count(installation, query))}


def _shown(statuses: Counter[int]) -> str:
    return ", ".join(f"{number} x {status}" for status, number in sorted(statuses.items()))
