"""Running the invariants: one at a time, over one snapshot of the data, kept as a ReconcileRun."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import structlog
from django.db import connection, transaction
from django.utils import timezone

from merchants.ledger.invariants import CouldNotCheck, Finding, Invariant, Scope, Severity
from merchants.ledger.models import ReconcileOutcome, ReconcileRun

logger = structlog.get_logger(__name__)

ADVISORY_LOCK = "ballast.reconcile"
FINDINGS_KEPT = 100

SETTINGS = (
    # A full check of a big ledger takes longer than any request may.
    "statement_timeout = 0",
    "idle_in_transaction_session_timeout = 0",
    # Cursors are planned for their first rows; here every row is looked at.
    "cursor_tuple_fraction = 1",
    "work_mem = '64MB'",
)

EXIT_CODES = {
    ReconcileOutcome.CLEAN: 0,
    ReconcileOutcome.WARNINGS: 1,
    ReconcileOutcome.DISCREPANCY: 2,
    ReconcileOutcome.UNFINISHED: 3,
}


class AlreadyRunning(Exception):
    """Another run holds the lock."""


@dataclass(slots=True)
class CheckResult:
    """How one check ended. `crash` says why it did not come to an end."""

    invariant: Invariant
    warning_count: int = 0
    error_count: int = 0
    seconds: float = 0.0
    crash: str = ""


class Listener(Protocol):
    """Told of everything as it happens."""

    def check_started(self, invariant: Invariant, position: int, total: int) -> None: ...

    def found(self, record: Mapping[str, Any]) -> None: ...

    def check_finished(self, result: CheckResult) -> None: ...


def finding_record(invariant: Invariant, finding: Finding) -> dict[str, Any]:
    """A finding as JSON. Amounts are text: base units outgrow the numbers of most JSON readers."""
    return {
        "check": invariant.code,
        "severity": str(finding.severity or invariant.severity),
        "subject": finding.subject,
        "expected": str(finding.expected),
        "actual": str(finding.actual),
        "delta": None if finding.delta is None else str(finding.delta),
        "proposal": finding.proposal,
    }


def reconcile(
    scope: Scope, invariants: Sequence[Invariant], listener: Listener, *, options: Mapping[str, Any]
) -> ReconcileRun:
    """Check everything once and keep what was found. AlreadyRunning when another run is at it.

    A check that crashes, or says it could not check, does not keep the others from running; the outcome is then
    `unfinished`, whatever they find.
    """
    run = ReconcileRun.objects.create(options=dict(options))
    results: list[CheckResult] = []
    is_complete = False
    try:
        with transaction.atomic(durable=True):
            _open_snapshot()
            for position, invariant in enumerate(invariants, start=1):
                listener.check_started(invariant, position, len(invariants))
                results.append(_run_check(invariant, scope, listener, run.findings))
                listener.check_finished(results[-1])
        is_complete = True
    finally:
        _close_run(run, results, is_complete=is_complete)
    return run


def _open_snapshot() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        cursor.execute("SELECT pg_try_advisory_xact_lock(hashtext(%s))", [ADVISORY_LOCK])
        if cursor.fetchone() != (True,):
            raise AlreadyRunning("another reconcile is running")
        for setting in SETTINGS:
            cursor.execute(f"SET LOCAL {setting}")


def _run_check(invariant: Invariant, scope: Scope, listener: Listener, kept: list[dict[str, Any]]) -> CheckResult:
    result = CheckResult(invariant)
    began = time.monotonic()
    try:
        with transaction.atomic():
            for finding in invariant.check(scope):
                record = finding_record(invariant, finding)
                if record["severity"] == Severity.ERROR:
                    result.error_count += 1
                else:
                    result.warning_count += 1
                if len(kept) < FINDINGS_KEPT:
                    kept.append(record)
                listener.found(record)
    except CouldNotCheck as reason:
        result.crash = str(reason)
    except Exception as error:
        # Whatever a check dies of, the others still have something to say.
        logger.exception("a check crashed", check=invariant.code)
        result.crash = f"{type(error).__name__}: {error}".strip()
    result.seconds = time.monotonic() - began
    return result


def _close_run(run: ReconcileRun, results: Sequence[CheckResult], *, is_complete: bool) -> None:
    run.checks = [
        {
            "check": result.invariant.code,
            "title": result.invariant.title,
            "warnings": result.warning_count,
            "errors": result.error_count,
            "seconds": round(result.seconds, 3),
            "crash": result.crash,
        }
        for result in results
    ]
    run.warning_count = sum(result.warning_count for result in results)
    run.error_count = sum(result.error_count for result in results)
    run.outcome = _outcome(run, is_complete=is_complete and not any(result.crash for result in results))
    run.finished_at = timezone.now()
    run.save()


def _outcome(run: ReconcileRun, *, is_complete: bool) -> ReconcileOutcome:
    if not is_complete:
        return ReconcileOutcome.UNFINISHED
    if run.error_count:
        return ReconcileOutcome.DISCREPANCY
    return ReconcileOutcome.WARNINGS if run.warning_count else ReconcileOutcome.CLEAN
