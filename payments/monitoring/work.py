"""Periodic work that is late, computed on request, so that it works even when nothing runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import FloatField, Min
from django.db.models.expressions import RawSQL
from django.db.models.functions import Extract, Now

from config.celery import app
from config.pages.wording import duration
from config.periodic import task_runs
from config.periodic.beat_lock import HEARTBEAT_MAX_SECONDS, heartbeat_age_seconds
from merchants.ledger.models import Stop
from payments.chains.registry import places_in_use
from payments.monitoring.models import Pulse
from payments.monitoring.reconciling import QUICK_EVERY, QUICK_RESTS, Extent, LastRun, last_runs
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
        app_name, _, task = self.of.partition(".")
        of = f"{task.replace('_', ' ')} ({app_name})" if task else self.of
        when = "never" if self.age is None else f"{duration(self.age)} ago"
        return f"{f'{self.name} {of}'.strip()}: last done {when}, at most {duration(self.limit)} is allowed"


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


@dataclass(frozen=True, slots=True)
class Report:
    """All periodic work, the most urgent first, the clocks of all running processes, and the last runs of reconcile."""

    items: Sequence[Work]
    clocks: Sequence[Clock]
    runs: Mapping[Extent, LastRun]

    @property
    def behind(self) -> list[Work]:
        return [item for item in self.items if item.is_behind]

    @property
    def clocks_off(self) -> list[Clock]:
        return [clock for clock in self.clocks if clock.is_off]


def report(halted: Collection[tuple[str, str]] | None = None) -> Report:
    """Everything as it is now, by four queries, and one for the halted networks where they are not given."""
    ages, clocks = pulses()
    runs = last_runs()
    if halted is None:
        halted = set(Stop.objects.halting().values_list("environment", "network"))
    found = [Work(HEARTBEAT, "", heartbeat_age_seconds(), HEARTBEAT_MAX_SECONDS)]
    found += _of_watcher(ages, halted)
    found.append(Work(task_runs.DISPATCHER, "", _age(ages, task_runs.DISPATCHER), DISPATCHER_MAX))
    found += _of_wallets(ages)
    for entry in app.conf.beat_schedule.values():
        if (task := entry["task"]) not in WATCHED_CLOSER:
            limit = max(TASK_MIN, TASK_INTERVALS * float(entry["schedule"]))
            found.append(Work(task_runs.TASK, task, _age(ages, task_runs.TASK, task), limit))
    found += _of_reconcile(ages, runs)
    return Report(found, clocks, runs)


def place_name(environment: str, network: str) -> str:
    return f"{environment} {network}"


def pulses() -> tuple[dict[tuple[str, str], float], list[Clock]]:
    """How many seconds ago each piece of work was last done, by kind and subject; and the clocks of processes."""
    ages: dict[tuple[str, str], float] = {}
    clocks = []
    rows = Pulse.objects.annotate(age=_AGE).order_by("subject")
    for kind, subject, age, ahead in rows.values_list("kind", "subject", "age", "ahead_seconds"):
        if kind != task_runs.CLOCK:
            ages[kind, subject] = float(age)
        elif age <= CLOCKS_SEEN_WITHIN:
            clocks.append(Clock(subject, ahead or 0.0))
    return ages, clocks


def _age(ages: Mapping[tuple[str, str], float], kind: str, subject: str = "") -> float | None:
    """Seconds since it was last done; since the first process of this installation began when it never was."""
    return ages.get((kind, subject), ages.get((task_runs.BEGAN, "")))


def _of_watcher(ages: Mapping[tuple[str, str], float], halted: Collection[tuple[str, str]]) -> Iterator[Work]:
    """The watcher of each network. A halted network is not read and has an alarm of its own."""
    for place in places_in_use():
        if place not in halted:
            name = place_name(*place)
            yield Work(task_runs.WATCHER, name, _age(ages, task_runs.WATCHER, name), WATCHER_MAX)


def _of_reconcile(ages: Mapping[tuple[str, str], float], runs: Mapping[Extent, LastRun]) -> Iterator[Work]:
    """The runs of reconcile that beat schedules. While the full one is at work, no quick one is."""
    quick, full = runs.get("quick"), runs.get("full")
    apart = max(QUICK_EVERY, (QUICK_RESTS + 1) * quick.duration) if quick is not None else QUICK_EVERY
    most = QUICK_INTERVALS * apart + (2 * full.duration if full is not None else timedelta())
    for extent, last, limit in (("quick", quick, most.total_seconds()), ("full", full, FULL_MAX)):
        yield Work(RECONCILE, extent, _age(ages, RECONCILE) if last is None else last.age, limit)


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
    waiting = Payout.objects.filter(status__in=[PayoutStatus.READY, PayoutStatus.HELD], next_attempt_at__lte=Now())
    stepping = Transfer.objects.filter(status__in=OPEN_TRANSFERS, next_step_at__lte=Now())
    parts = [
        rows.order_by().values("environment", "network").annotate(age=Extract(Now() - Min(field), "epoch"))
        for rows, field in ((waiting, "next_attempt_at"), (stepping, "next_step_at"))
    ]
    found: dict[tuple[str, str], float] = {}
    for environment, network, age in parts[0].union(parts[1], all=True).values_list("environment", "network", "age"):
        found[environment, network] = max(found.get((environment, network), 0.0), float(age))
    return found
