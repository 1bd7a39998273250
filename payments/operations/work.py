"""Which periodic work is behind, worked out when somebody asks: none of it must run to be missed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.db import connection
from django.db.models import FloatField, Min
from django.db.models.expressions import RawSQL

from config import pulses
from config.celery import app
from config.heartbeat import heartbeat_age_seconds
from payments.chains.registry import places_in_use
from payments.models import ScanCursor
from payments.operations.models import Pulse
from payments.transfers.models import Payout, Transfer
from payments.transfers.states import OPEN_TRANSFERS, PayoutStatus

HEARTBEAT = "heartbeat"
HEARTBEAT_MAX = 15.0
WATCHER_MAX = 120.0
"""Longer than the lease of a network: what a killed watcher was at is taken up after that."""

DISPATCHER_MAX = 60.0
WALLETS_MAX = 120.0
TASK_MIN, TASK_INTERVALS = 180.0, 3
"""A task must have succeeded within three of its intervals, and is given three minutes at least."""

WATCHED_CLOSER = frozenset({"payments.watch_networks", "webhooks.deliver_due", "transfers.drive"})
"""Tasks that may go on for minutes while there is much to do: watcher, dispatcher and wallets tell of them."""

_AGE = RawSQL("extract(epoch FROM clock_timestamp() - at)", [], FloatField())

CLOCKS_SEEN_WITHIN = 120.0
"""A process that has not told the time for longer has ended."""


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
    """How many seconds the clock of a process is ahead of the database's."""

    process: str
    ahead: float

    @property
    def is_off(self) -> bool:
        return abs(self.ahead) > pulses.CLOCK_OFF_SECONDS

    def __str__(self) -> str:
        return f"{self.process}: {abs(self.ahead):.0f} s {'ahead' if self.ahead > 0 else 'behind'}"


def all_work() -> list[Work]:
    """Every piece of work there is, the most urgent first."""
    ages = _ages()
    found = [Work(HEARTBEAT, "", heartbeat_age_seconds(), HEARTBEAT_MAX)]
    found += _of_watcher(ages)
    found.append(Work(pulses.DISPATCHER, "", _age(ages, pulses.DISPATCHER), DISPATCHER_MAX))
    found += _of_wallets(ages)
    for entry in app.conf.beat_schedule.values():
        if (task := entry["task"]) not in WATCHED_CLOSER:
            limit = max(TASK_MIN, TASK_INTERVALS * float(entry["schedule"]))
            found.append(Work(pulses.TASK, task, _age(ages, pulses.TASK, task), limit))
    return found


def clocks() -> list[Clock]:
    """Of every process that has told the time lately."""
    seen = Pulse.objects.filter(kind=pulses.CLOCK).annotate(age=_AGE).filter(age__lte=CLOCKS_SEEN_WITHIN)
    return [Clock(pulse.subject, pulse.ahead_seconds or 0.0) for pulse in seen.order_by("subject")]


def place_name(environment: str, network: str) -> str:
    return f"{environment} {network}"


def _ages() -> dict[tuple[str, str], float]:
    rows = Pulse.objects.annotate(age=_AGE).exclude(kind=pulses.CLOCK).values_list("kind", "subject", "age")
    return {(kind, subject): float(age) for kind, subject, age in rows}


def _age(ages: Mapping[tuple[str, str], float], kind: str, subject: str = "") -> float | None:
    """What was never done counts from when the first process of this installation began."""
    return ages.get((kind, subject), ages.get((pulses.BEGAN, "")))


def _of_watcher(ages: Mapping[tuple[str, str], float]) -> Iterator[Work]:
    """A halted network is not read until a person has looked at it, and has an alarm of its own."""
    halted = set(ScanCursor.objects.filter(halted_at__isnull=False).values_list("environment", "network"))
    for place in places_in_use():
        if place not in halted:
            name = place_name(*place)
            yield Work(pulses.WATCHER, name, _age(ages, pulses.WATCHER, name), WATCHER_MAX)


def _of_wallets(ages: Mapping[tuple[str, str], float]) -> Iterator[Work]:
    """The round over all wallets; and each that has something due, by what is later: since when, or its last turn."""
    yield Work(pulses.WALLETS, "", _age(ages, pulses.WALLETS), WALLETS_MAX)
    due = _due_for()
    for place in places_in_use():
        if place in due:
            name = place_name(*place)
            age = min(due[place], ages.get((pulses.WALLETS, name), due[place]))
            yield Work(pulses.WALLETS, name, age, WALLETS_MAX)


def _due_for() -> dict[tuple[str, str], float]:
    """For how many seconds something has been due at each place, by the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        [now] = cursor.fetchone() or [None]
    waiting = Payout.objects.filter(status__in=[PayoutStatus.READY, PayoutStatus.HELD], next_attempt_at__lte=now)
    stepping = Transfer.objects.filter(status__in=OPEN_TRANSFERS, next_step_at__lte=now)
    found: dict[tuple[str, str], float] = {}
    for rows, field in ((waiting, "next_attempt_at"), (stepping, "next_step_at")):
        for environment, network, since in rows.order_by().values_list("environment", "network").annotate(Min(field)):
            place = (environment, network)
            found[place] = max(found.get(place, 0.0), (now - since).total_seconds())
    return found
