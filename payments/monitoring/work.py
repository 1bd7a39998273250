"""Periodic work that is late, computed on request, so that it works even when nothing runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import FloatField, Min
from django.db.models.expressions import RawSQL

from config.celery import app
from config.database.database_time import database_now
from config.periodic import task_runs
from config.periodic.beat_lock import HEARTBEAT_MAX_SECONDS, heartbeat_age_seconds
from merchants.ledger.models import Stop
from payments.chains.registry import places_in_use
from payments.monitoring.models import Pulse
from payments.monitoring.reconciling import QUICK_EVERY, QUICK_RESTS, last_run
from payments.transfers.models import Payout, Transfer
from payments.transfers.states import OPEN_TRANSFERS, PayoutStatus

HEARTBEAT = "heartbeat"
WATCHER_MAX = 120.0
"""Longer than the lease of a network, after which another watcher continues for a killed one."""

DISPATCHER_MAX = 60.0
WALLETS_MAX = 120.0
TASK_MIN, TASK_INTERVALS = 180.0, 3
"""A task must succeed within three of its intervals, and in at least three minutes."""

WATCHED_CLOSER = frozenset({"payments.watch_networks", "webhooks.deliver_due", "transfers.drive"})
"""Tasks that may run for minutes: watcher, dispatcher and wallets note their progress themselves."""

_AGE = RawSQL("extract(epoch FROM clock_timestamp() - at)", [], FloatField())

RECONCILE = "reconcile"
QUICK_INTERVALS = 3
FULL_MAX = 30 * 3600.0

CLOCKS_SEEN_WITHIN = 120.0
"""A process that has not compared its clock for longer has ended."""


@dataclass(frozen=True, slots=True)
class Work:
    """One piece of work: how many seconds ago it was last done, None for never, and how long it may take."""

    name: str
    of: str
    age: float | None
    limit: float

    @property
    def is_behind(self) -> bool:
        return self.age is None or self.age > self.limit

    def __str__(self) -> str:
        name = f"{self.name} {self.of}" if self.of else self.name
        when = "never" if self.age is None else f"{self.age:.0f} s ago"
        return f"{name}: last done {when}, {self.limit:.0f} s are allowed"


@dataclass(frozen=True, slots=True)
class Clock:
    """By how many seconds the clock of a process is ahead of the database's."""

    process: str
    ahead: float

    @property
    def is_off(self) -> bool:
        return abs(self.ahead) > task_runs.CLOCK_OFF_SECONDS

    def __str__(self) -> str:
        return f"{self.process}: {abs(self.ahead):.0f} s {'ahead' if self.ahead > 0 else 'behind'}"


def all_work() -> list[Work]:
    """Every piece of periodic work, the most urgent first."""
    ages = _ages()
    found = [Work(HEARTBEAT, "", heartbeat_age_seconds(), HEARTBEAT_MAX_SECONDS)]
    found += _of_watcher(ages)
    found.append(Work(task_runs.DISPATCHER, "", _age(ages, task_runs.DISPATCHER), DISPATCHER_MAX))
    found += _of_wallets(ages)
    for entry in app.conf.beat_schedule.values():
        if (task := entry["task"]) not in WATCHED_CLOSER:
            limit = max(TASK_MIN, TASK_INTERVALS * float(entry["schedule"]))
            found.append(Work(task_runs.TASK, task, _age(ages, task_runs.TASK, task), limit))
    found += _of_reconcile(ages)
    return found


def clocks() -> list[Clock]:
    """The clocks of all running processes."""
    seen = Pulse.objects.filter(kind=task_runs.CLOCK).annotate(age=_AGE).filter(age__lte=CLOCKS_SEEN_WITHIN)
    return [Clock(pulse.subject, pulse.ahead_seconds or 0.0) for pulse in seen.order_by("subject")]


def place_name(environment: str, network: str) -> str:
    return f"{environment} {network}"


def _ages() -> dict[tuple[str, str], float]:
    rows = Pulse.objects.annotate(age=_AGE).exclude(kind=task_runs.CLOCK).values_list("kind", "subject", "age")
    return {(kind, subject): float(age) for kind, subject, age in rows}


def _age(ages: Mapping[tuple[str, str], float], kind: str, subject: str = "") -> float | None:
    """Seconds since it was last done; since the first process of this installation began when it never was."""
    return ages.get((kind, subject), ages.get((task_runs.BEGAN, "")))


def _of_watcher(ages: Mapping[tuple[str, str], float]) -> Iterator[Work]:
    """The watcher of each network. A halted network is not read and has an alarm of its own."""
    halted = set(Stop.objects.halting().values_list("environment", "network"))
    for place in places_in_use():
        if place not in halted:
            name = place_name(*place)
            yield Work(task_runs.WATCHER, name, _age(ages, task_runs.WATCHER, name), WATCHER_MAX)


def _of_reconcile(ages: Mapping[tuple[str, str], float]) -> Iterator[Work]:
    """The runs of reconcile that beat schedules. While the full one is at work, no quick one is."""
    quick, full = last_run("quick"), last_run("full")
    apart = max(QUICK_EVERY, (QUICK_RESTS + 1) * quick.duration) if quick is not None else QUICK_EVERY
    most = QUICK_INTERVALS * apart + (2 * full.duration if full is not None else timedelta())
    for extent, last, limit in (("quick", quick, most.total_seconds()), ("full", full, FULL_MAX)):
        age = _age(ages, RECONCILE) if last is None else (database_now() - last.finished_at).total_seconds()
        yield Work(RECONCILE, extent, age, limit)


def _of_wallets(ages: Mapping[tuple[str, str], float]) -> Iterator[Work]:
    """The round over all wallets; and each wallet with something due, since it is due or since its last round."""
    yield Work(task_runs.WALLETS, "", _age(ages, task_runs.WALLETS), WALLETS_MAX)
    due = _due_for()
    for place in places_in_use():
        if place in due:
            name = place_name(*place)
            age = min(due[place], ages.get((task_runs.WALLETS, name), due[place]))
            yield Work(task_runs.WALLETS, name, age, WALLETS_MAX)


def _due_for() -> dict[tuple[str, str], float]:
    """For how many seconds something has been due on each network, by the database's clock."""
    now = database_now()
    waiting = Payout.objects.filter(status__in=[PayoutStatus.READY, PayoutStatus.HELD], next_attempt_at__lte=now)
    stepping = Transfer.objects.filter(status__in=OPEN_TRANSFERS, next_step_at__lte=now)
    found: dict[tuple[str, str], float] = {}
    for rows, field in ((waiting, "next_attempt_at"), (stepping, "next_step_at")):
        for environment, network, since in rows.order_by().values_list("environment", "network").annotate(Min(field)):
            place = (environment, network)
            found[place] = max(found.get(place, 0.0), (now - since).total_seconds())
    return found
