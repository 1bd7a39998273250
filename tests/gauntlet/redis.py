"""Redis dies and comes back, again and again, beside living workers of every queue that have much to do.

Each time every worker is full of tasks that take a second, and as many wait in it: these are taken up, and Redis is to
be told of it, while it is away.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import QuerySet

from config.celery import app, queue_of
from config.database.database_time import database_now
from payments.monitoring.models import Pulse
from tests.gauntlet.installation import BEAT, Installation
from tests.gauntlet.report import Check, Progress
from tests.gauntlet.resting_worker import REST, REST_SECONDS, RESTING
from tests.platform.test_redis_servers import with_sentinel

OUTAGES, OUTAGE_SECONDS = 20, (1, 2, 3, 5, 8, 13, 21, 34, 55, 90)
BEHIND_SECONDS = 60.0
CONTROL_OUTAGE_SECONDS, CONTROL_BEHIND_SECONDS = 8, 60.0
SENTINEL, GUARD_ALONE = True, True
SETTLED = timedelta(seconds=3)
SHORT: dict[str, Any] = {
    "OUTAGES": 1,
    "OUTAGE_SECONDS": (2,),
    "BEHIND_SECONDS": 45.0,
    "CONTROL_OUTAGE_SECONDS": 2,
    "CONTROL_BEHIND_SECONDS": 7.0,
    "SENTINEL": False,
    "GUARD_ALONE": False,
}

POOLS = {
    "chain": ("threads", "4"),
    "webhooks": ("threads", "4"),
    "money": ("threads", "8"),
    "reports": ("prefork", "1"),
}
"""As in compose.yaml."""


class Shop:
    """Beat and a worker of each queue, started again when one has ended, as a supervisor does."""

    def __init__(self, installation: Installation, name: str, *, guards: tuple[str, ...] = ("qos", "guard")) -> None:
        self._installation = installation
        self._environment: Mapping[str, str] = dict(os.environ)
        self._commands = {f"{name} beat": BEAT}
        for queue, (pool, concurrency) in POOLS.items():
            self._commands[f"{name} {queue}"] = [
                sys.executable, "-m", "tests.gauntlet.resting_worker", "--app", "config.celery", "worker",
                "--queues", queue, "--pool", pool, "--concurrency", concurrency, "--without-gossip", "--without-mingle",
                "--loglevel", "WARNING", "--hostname", f"{queue}@localhost",
                *([] if "qos" in guards else ["--kombu"]), *([] if "guard" in guards else ["--no-guard"]),
            ]  # fmt: skip
        self.restarts = 0

    def start(self, **environment: str) -> None:
        self._environment = {**os.environ, **environment}
        for name, command in self._commands.items():
            self._installation.start(name, command, self._environment)

    def stop(self) -> None:
        for name in self._commands:
            self._installation.kill(name)

    def wait(self, seconds: float) -> None:
        """Let time pass, and start again what has ended meanwhile."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for name, command in self._commands.items():
                if not self._installation.is_running(name):
                    self.restarts += 1
                    self._installation.kill(name)
                    self._installation.start(name, command, self._environment)
            time.sleep(min(0.5, seconds))

    def seconds_until_all_work(self, limit: float) -> tuple[float, list[str]]:
        """How long until every queue has done a task that was sent from now on, and the queues that did none."""
        began, now = time.monotonic(), database_now()
        while behind := [queue for queue in POOLS if not _worked_after(queue, now)]:
            if time.monotonic() - began > limit:
                break
            self.wait(0.5)
        return time.monotonic() - began, behind

    def fill(self) -> list[str]:
        """Give every worker more than it can do at once, and return the queues where nothing of it has begun."""
        now = database_now()
        for queue, (_, concurrency) in POOLS.items():
            for _ in range(2 * int(concurrency) + 1):
                app.send_task(REST, [queue], queue=queue, ignore_result=True)
        deadline = time.monotonic() + BEHIND_SECONDS
        while idle := set(POOLS) - {*_resting(now)}:
            if time.monotonic() > deadline:
                break
            time.sleep(0.05)
        return sorted(idle)


def run(installation: Installation, chance: random.Random) -> list[Check]:
    progress = Progress()
    shop = Shop(installation, "whole")
    shop.start()
    _, absent = shop.seconds_until_all_work(BEHIND_SECONDS)
    outages = [
        _outage(installation, shop, progress, chance.choice(OUTAGE_SECONDS), BEHIND_SECONDS) for _ in range(OUTAGES)
    ]
    behind, idle = sum(len(each.behind) for each in outages), sum(len(each.idle) for each in outages)
    longest = max(each.seconds for each in outages)
    checks = [
        Check("at first every queue works", ", ".join(absent) or "4 queues", not absent),
        Check(f"Redis dies {OUTAGES} times, and each worker is at work then", f"{idle} were not", not idle),
        Check(
            f"{BEHIND_SECONDS:.0f} s later no queue is behind",
            f"{behind} behind, the slowest after {longest:.1f} s, {shop.restarts} workers ended themselves",
            not behind,
        ),
    ]
    shop.stop()
    if SENTINEL:
        checks.append(_fail_over(installation, progress))
    return checks + _controls(installation, progress)


class Outage(NamedTuple):
    """How long it took until every queue worked again, those that did not in time, and those that had nothing to do."""

    seconds: float
    behind: list[str]
    idle: list[str]


def _outage(installation: Installation, shop: Shop, progress: Progress, length: int, limit: float) -> Outage:
    idle = shop.fill()
    installation.redis.kill()
    shop.wait(max(length, 2 * REST_SECONDS))
    installation.redis.start()
    seconds, behind = shop.seconds_until_all_work(limit)
    progress.say(f"outage of {length} s: {seconds:.1f} s until all work, behind: {behind}", now=True)
    return Outage(seconds, behind, idle)


def _fail_over(installation: Installation, progress: Progress) -> Check:
    with ExitStack() as servers:
        address, leader = with_sentinel(servers, None, silent_seconds=1)
        shop = Shop(installation, "sentinel")
        shop.start(REDIS_URL=address)
        servers.callback(shop.stop)
        _, absent = shop.seconds_until_all_work(BEHIND_SECONDS)
        leader.kill()
        delay, behind = shop.seconds_until_all_work(BEHIND_SECONDS)
        progress.say(f"fail-over: all work after {delay:.1f} s", now=True)
        return Check(
            "a Sentinel fail-over leaves no queue behind",
            f"{len(absent) + len(behind)} behind, all work after {delay:.1f} s",
            not absent and not behind,
        )


def _controls(installation: Installation, progress: Progress) -> list[Check]:
    shop, outage = _without(installation, progress, "control")
    checks = [
        Check(
            "control: kombu as it is, without the guard: some are behind",
            f"behind: {', '.join(outage.behind)}",
            bool(outage.behind) and not outage.idle,
        )
    ]
    if GUARD_ALONE:
        shop, outage = _without(installation, progress, "guard alone", "guard")
        figure = f"{len(outage.behind)} behind, {shop.restarts} workers ended themselves"
        checks.append(
            Check("kombu as it is, with the guard: none is behind", figure, not outage.behind and shop.restarts > 0)
        )
    return checks


def _without(installation: Installation, progress: Progress, name: str, *guards: str) -> tuple[Shop, Outage]:
    """An outage beside workers that have these guards alone."""
    shop = Shop(installation, name, guards=guards)
    shop.start()
    shop.seconds_until_all_work(BEHIND_SECONDS)
    outage = _outage(installation, shop, progress, CONTROL_OUTAGE_SECONDS, CONTROL_BEHIND_SECONDS)
    shop.stop()
    return shop, outage


def _resting(since: datetime) -> QuerySet[Pulse, str]:
    """The queues whose workers have begun to rest."""
    return Pulse.objects.filter(kind=RESTING, at__gt=since).values_list("subject", flat=True)


def _worked_after(queue: str, instant: datetime) -> bool:
    tasks = [entry["task"] for entry in app.conf.beat_schedule.values() if queue_of(entry["task"]) == queue]
    # A task that was taken before Redis died may end after it is back: that says nothing.
    return Pulse.objects.filter(kind="task", subject__in=tasks, at__gt=instant + SETTLED).exists()
