"""Redis dies and comes back, again and again, beside living workers of every queue that have much to do."""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

from config.celery import app, queue_of
from config.database_time import database_now
from payments.operations.models import Pulse
from tests.gauntlet.installation import BEAT, Installation
from tests.gauntlet.report import Check, Progress
from tests.platform.test_redis_servers import with_sentinel

OUTAGES, OUTAGE_SECONDS = 20, (1, 2, 3, 5, 8, 13, 21, 34, 55, 90)
BURST = 300
"""So many messages wait in every queue when Redis dies: a worker that has nothing to do is never hurt."""

BEHIND_SECONDS = 60.0
CONTROL_OUTAGES, CONTROL_OUTAGE_SECONDS = 2, (8,)
SENTINEL = True
SETTLED = timedelta(seconds=3)
SHORT: dict[str, Any] = {
    "OUTAGES": 2,
    "OUTAGE_SECONDS": (1, 2),
    "BEHIND_SECONDS": 20.0,
    "CONTROL_OUTAGES": 0,
    "SENTINEL": False,
}

TASKS = {
    "chain": "payments.expire_due",
    "webhooks": "webhooks.mail_disabled",
    "money": "settlements.advance_due",
    "reports": "people.send_mails",
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
            module = "celery" if "qos" in guards else "tests.gauntlet.unguarded_worker"
            self._commands[f"{name} {queue}"] = [
                sys.executable, "-m", module, "--app", "config.celery", "worker", "--queues", queue,
                "--pool", pool, "--concurrency", concurrency, "--without-gossip", "--without-mingle",
                "--loglevel", "WARNING", "--hostname", f"{queue}@localhost",
                *([] if "guard" in guards else ["--no-guard"]),
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

    def seconds_until_all_work(self) -> tuple[float, list[str]]:
        """How long until every queue has done a task that was sent from now on, and the queues that did none."""
        began, now = time.monotonic(), database_now()
        while behind := [queue for queue in POOLS if not _worked_after(queue, now)]:
            if time.monotonic() - began > BEHIND_SECONDS:
                break
            self.wait(0.5)
        return time.monotonic() - began, behind


def run(installation: Installation, chance: random.Random) -> list[Check]:
    progress = Progress()
    shop = Shop(installation, "whole")
    shop.start()
    _, absent = _outages(installation, shop, chance, progress, 0, ())
    delays, behind = _outages(installation, shop, chance, progress, OUTAGES, OUTAGE_SECONDS)
    longest = max(delays, default=0.0)
    checks = [
        Check("at first every queue works", ", ".join(absent) or "4 queues", not absent),
        Check(f"Redis dies {OUTAGES} times", f"{len(delays)} outages", len(delays) == OUTAGES),
        Check(
            f"{BEHIND_SECONDS:.0f} s later no queue is behind",
            f"{len(behind)} behind, the slowest after {longest:.1f} s, {shop.restarts} workers ended themselves",
            not behind,
        ),
    ]
    shop.stop()
    if SENTINEL:
        checks.append(_fail_over(installation, progress))
    if CONTROL_OUTAGES:
        checks += _controls(installation, chance, progress)
    return checks


def _outages(
    installation: Installation,
    shop: Shop,
    chance: random.Random,
    progress: Progress,
    outages: int,
    lengths: tuple[int, ...],
) -> tuple[list[float], list[str]]:
    """How long it took each time until every queue worked again, and the queues that did not in time."""
    if not outages:
        return [], shop.seconds_until_all_work()[1]
    delays, all_behind = [], []
    for number in range(outages):
        _burst()
        shop.wait(chance.uniform(0.1, 0.6))
        installation.redis.kill()
        length = chance.choice(lengths)
        shop.wait(length)
        installation.redis.start()
        delay, behind = shop.seconds_until_all_work()
        delays.append(delay)
        all_behind += behind
        progress.say(f"outage {number + 1} of {length} s: all work after {delay:.1f} s {behind or ''}", now=True)
    return delays, all_behind


def _fail_over(installation: Installation, progress: Progress) -> Check:
    with ExitStack() as servers:
        address, leader = with_sentinel(servers, None, silent_seconds=1)
        shop = Shop(installation, "sentinel")
        shop.start(REDIS_URL=address)
        servers.callback(shop.stop)
        _, absent = shop.seconds_until_all_work()
        leader.kill()
        delay, behind = shop.seconds_until_all_work()
        progress.say(f"fail-over: all work after {delay:.1f} s", now=True)
        return Check(
            "a Sentinel fail-over leaves no queue behind",
            f"{len(absent) + len(behind)} behind, all work after {delay:.1f} s",
            not absent and not behind,
        )


def _controls(installation: Installation, chance: random.Random, progress: Progress) -> list[Check]:
    checks = []
    for name, guards in (("control", ()), ("guard alone", ("guard",))):
        shop = Shop(installation, name, guards=guards)
        shop.start()
        shop.seconds_until_all_work()
        _, behind = _outages(installation, shop, chance, progress, CONTROL_OUTAGES, CONTROL_OUTAGE_SECONDS)
        shop.stop()
        if guards:
            figure = f"{len(behind)} behind, {shop.restarts} workers ended themselves"
            checks.append(
                Check("kombu as it is, with the guard: none is behind", figure, not behind and shop.restarts > 0)
            )
        else:
            checks.append(
                Check("control: kombu as it is, without the guard", f"behind: {', '.join(behind)}", bool(behind))
            )
    return checks


def _burst() -> None:
    """Nobody asks whether such a message waits already: the workers are to have much to do."""
    for task in TASKS.values():
        for _ in range(BURST):
            app.send_task(task, queue=queue_of(task), ignore_result=True)


def _worked_after(queue: str, instant: Any) -> bool:
    tasks = [entry["task"] for entry in app.conf.beat_schedule.values() if queue_of(entry["task"]) == queue]
    # A task that was taken before Redis died may end after it is back: that says nothing.
    return Pulse.objects.filter(kind="task", subject__in=tasks, at__gt=instant + SETTLED).exists()
