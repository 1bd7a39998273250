"""Reconcile by itself: quick every few minutes, in full each night. Stored runs have what is due, and what was found.

Two never run at once, in this installation or by hand, and quick runs take a tenth of the time at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

import structlog
from django.db.models import FloatField, Q, QuerySet, Value
from django.db.models.expressions import RawSQL
from django.utils import timezone

from config import ids
from config.database.advisory_locks import named_lock
from config.database.purging import delete_in_batches
from config.environments import Environment
from config.installation.services import current_standstill
from merchants.ledger.checking import Invariant, Scope, registered
from merchants.ledger.models import ReconcileOutcome, ReconcileRun
from merchants.ledger.quick import quick_scope
from merchants.ledger.reconciliation import ONE_AT_A_TIME, CheckResult, reconcile

logger = structlog.get_logger(__name__)

Extent = Literal["quick", "full"]
EXTENTS: tuple[Extent, ...] = ("quick", "full")

QUICK_EVERY = timedelta(minutes=5)
QUICK_RESTS = 10
"""After a quick run the next begins no sooner than so many times its own duration later."""

NIGHT_HOURS = range(2, 6)
"""Of the clock in UTC, when a full run begins."""

FULL_AFTER, FULL_LATE_AFTER = timedelta(hours=20), timedelta(hours=26)
"""At night a full run is due so long after the last; whatever the hour, so long after it."""

RUNS_KEPT = timedelta(days=7)
"""For how long quick runs are kept. Full runs, and those by hand, are kept for good."""


@dataclass(frozen=True, slots=True)
class LastRun:
    """The last run that looked at so much, or at more."""

    extent: Extent
    outcome: ReconcileOutcome
    started_at: datetime
    finished_at: datetime
    errors: int
    warnings: int
    age: float
    """Seconds since it ended, by the database's clock."""

    @property
    def duration(self) -> timedelta:
        return self.finished_at - self.started_at

    @property
    def is_clean(self) -> bool:
        return self.outcome == ReconcileOutcome.CLEAN


class _Silent:
    """Nobody watches: what is found is stored with the run."""

    def check_started(self, invariant: Invariant, position: int, total: int) -> None: ...

    def found(self, record: Mapping[str, Any]) -> None: ...

    def check_finished(self, result: CheckResult) -> None: ...


def ended_runs() -> dict[Extent, QuerySet[ReconcileRun]]:
    """The runs that looked at so much, or at more, the newest first. Full runs by hand count as well, so that one
    clears what the last was about; one that came to no check has looked at nothing, and does not."""
    everything = Q(
        options__environments=list(Environment.values),
        options__network=None,
        options__since=None,
        options__atBlock=None,
        options__noChain=False,
    )
    ended = ReconcileRun.objects.filter(finished_at__isnull=False).exclude(checks=[]).order_by("-id")
    return {"quick": ended.filter(everything | Q(options__schedule="quick")), "full": ended.filter(everything)}


def last_runs() -> dict[Extent, LastRun]:
    """The last run of each extent, without those that there was none of yet."""
    age = RawSQL("extract(epoch FROM clock_timestamp() - finished_at)", [], FloatField())
    columns = ("extent", "id", "outcome", "finished_at", "error_count", "warning_count", "age")
    quick, full = (
        runs.annotate(age=age, extent=Value(extent)).values_list(*columns)[:1] for extent, runs in ended_runs().items()
    )
    return {
        extent: LastRun(extent, ReconcileOutcome(outcome), ids.created_at_of(key), finished_at, errors, warnings, age)
        for extent, key, outcome, finished_at, errors, warnings, age in quick.union(full, all=True)
    }


def reconcile_due(now: datetime, *, began_at: datetime | None = None) -> ReconcileRun | None:
    """Run what is due, the full one before the quick one; None when nothing is, or another run is at work.

    While a restored database stands still nothing is: every transfer since the backup would be an error, and would
    stop payouts. What the chains show is adopted first, by the resume.

    `began_at` is when this installation first ran: the first full run waits for a night after it.
    """
    if current_standstill() is not None:
        return None
    with named_lock(ONE_AT_A_TIME) as is_ours:
        if not is_ours:
            return None
        last = last_runs()
        if is_full_due(now, last.get("full"), began_at):
            return _run("full", Scope())
        if is_quick_due(now, last.get("quick")):
            return _run("quick", quick_scope())
        return None


def is_quick_due(now: datetime, last: LastRun | None) -> bool:
    if last is None:
        return True
    return now >= max(last.started_at + QUICK_EVERY, last.finished_at + QUICK_RESTS * last.duration)


def is_full_due(now: datetime, last: LastRun | None, began_at: datetime | None) -> bool:
    since = last.started_at if last is not None else began_at
    if since is None:
        return True
    is_night = now.hour in NIGHT_HOURS
    return now >= since + FULL_LATE_AFTER or (is_night and now >= since + FULL_AFTER)


def _run(extent: Extent, scope: Scope) -> ReconcileRun:
    run = reconcile(scope, registered(), _Silent(), schedule=extent)
    if run.outcome != ReconcileOutcome.CLEAN:
        logger.error(
            "reconcile is not clean",
            extent=extent,
            outcome=run.outcome,
            errors=run.error_count,
            warnings=run.warning_count,
            run=str(run.pk),
        )
    _purge(timezone.now() - RUNS_KEPT)
    return run


def _purge(before: datetime) -> None:
    delete_in_batches(ReconcileRun.objects.filter(options__schedule="quick", id__lt=ids.first_uuid_at(before)))
