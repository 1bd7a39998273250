"""Runs the invariants, one after the other over one database snapshot, and stores the ReconcileRun.

An error stops payouts of its network: it is stopped as soon as the snapshot is closed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import structlog
from django.db import connection, transaction
from django.utils import timezone

from config.installation.services import current_standstill
from merchants.ledger.checking import CouldNotCheck, Finding, Invariant, NetworkKey, Scope, Severity
from merchants.ledger.explained_findings import finding_id, in_force
from merchants.ledger.models import Account, ExplainedFinding, ReconcileOutcome, ReconcileRun
from merchants.ledger.quick import Moment, read_until, this_moment
from merchants.ledger.stops import stop
from merchants.ledger.unexplained import Explained

logger = structlog.get_logger(__name__)

ONE_AT_A_TIME = "reconcile"
"""The named lock that whoever reconciles holds from before the chains are asked to the end."""

FINDINGS_KEPT = 500

SETTINGS = (
    # A full check of a big ledger takes longer than any request may.
    "statement_timeout = 0",
    "idle_in_transaction_session_timeout = 0",
    # Cursors are planned for their first rows; here every row is looked at.
    "cursor_tuple_fraction = 1",
    "work_mem = '64MB'",
)
SETTINGS_OF_PARTS = (
    # What a part names lies close together, and is read by its keys.
    "random_page_cost = 1.1",
)

EXIT_CODES = {
    ReconcileOutcome.CLEAN: 0,
    ReconcileOutcome.WARNINGS: 1,
    ReconcileOutcome.DISCREPANCY: 2,
    ReconcileOutcome.UNFINISHED: 3,
}


@dataclass(slots=True)
class CheckResult:
    """The result of one check. `crash` is the reason if it did not come to an end."""

    invariant: Invariant
    warning_count: int = 0
    error_count: int = 0
    explained_count: int = 0
    seconds: float = 0.0
    crash: str = ""


class Listener(Protocol):
    """Is called for everything as it happens."""

    def check_started(self, invariant: Invariant, position: int, total: int) -> None: ...

    def found(self, record: Mapping[str, Any]) -> None: ...

    def check_finished(self, result: CheckResult) -> None: ...


def finding_record(invariant: Invariant, finding: Finding) -> dict[str, Any]:
    """A finding as JSON. Amounts are text: base units are too large for the numbers of most JSON parsers."""
    record = {
        "check": invariant.code,
        "severity": str(finding.severity or invariant.severity),
        "subject": finding.subject,
        "expected": str(finding.expected),
        "actual": str(finding.actual),
        "delta": None if finding.delta is None else str(finding.delta),
        "proposal": finding.proposal,
        "environment": finding.environment,
        "network": finding.network,
        "asset": finding.asset,
        "identity": finding.identity or finding.subject,
        "figure": finding.figure,
        "key": finding.key and str(finding.key),
    }
    return record | {"id": finding_id(record), "explained": None}


def extent_of(scope: Scope) -> dict[str, Any]:
    """What a scope takes in, as JSON: the options of its run."""
    return {
        "environments": list(scope.environments),
        "network": scope.network,
        "since": scope.since.isoformat() if scope.since else None,
        "share": [str(key) for key in scope.share] if scope.share else None,
        "atBlock": scope.at_block,
        "noChain": not scope.reads_chains,
    }


def reconcile(scope: Scope, invariants: Sequence[Invariant], listener: Listener, **options: Any) -> ReconcileRun:
    """Check everything once and keep what was found. The caller holds the lock ONE_AT_A_TIME.

    A check that crashes, or could not check, does not stop the others; the outcome is then
    `unfinished`, whatever they find. Errors stop payouts either way. While a restored database stands still the run
    reports and changes nothing: what the chains show beyond the backup is not in the ledger yet.
    """
    acts = current_standstill() is None
    run = ReconcileRun.objects.create(options={**options, **extent_of(scope)})
    progress = _Progress(scope, run, listener)
    is_complete = False
    try:
        began = this_moment()
        _look_outside(scope, invariants)
        with transaction.atomic(durable=True):
            _open_snapshot(scope)
            progress.reads(began, this_moment())
            progress.explained.read_ledger(scope)
            for position, invariant in enumerate(invariants, start=1):
                progress.check(invariant, position, len(invariants))
        is_complete = True
    finally:
        progress.close(is_complete=is_complete, acts=acts)
    if acts:
        scope.do_what_is_left()
    return run


def _look_outside(scope: Scope, invariants: Sequence[Invariant]) -> None:
    """Run every observer before the snapshot is taken; when one fails, the checks that need it fail later."""
    if not scope.reads_chains:
        return
    for observer in {observer: None for invariant in invariants for observer in invariant.observers}:
        try:
            scope.observed(observer)
        except Exception as error:  # reported by the checks that need it, so that the others can go on
            logger.warning("could not look outside", observer=observer.__qualname__, error=str(error))


def _open_snapshot(scope: Scope) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        for setting in (*SETTINGS, *(SETTINGS_OF_PARTS if scope.since else ())):
            cursor.execute(f"SET LOCAL {setting}")


class _Progress:
    """The state of one run while it goes through the checks."""

    def __init__(self, scope: Scope, run: ReconcileRun, listener: Listener) -> None:
        self._scope = scope
        self._run = run
        self._listener = listener
        self._results: list[CheckResult] = []
        self._reasons: dict[tuple[str | None, str | None], str] = {}
        self.explained = Explained()
        self._read_until: Mapping[str, Any] | None = None
        self._understood: Mapping[str, ExplainedFinding] = in_force(timezone.now())

    def reads(self, began: Moment, snapshot: Moment) -> None:
        """Note what the run will have seen when it has come to the end, unless it is limited by hand."""
        if self._scope.since is None or self._scope.share is not None:
            self._read_until = read_until(began, snapshot)

    def check(self, invariant: Invariant, position: int, total: int) -> None:
        self._listener.check_started(invariant, position, total)
        result = CheckResult(invariant)
        began = time.monotonic()
        try:
            with transaction.atomic():
                for finding in self._findings_of(invariant):
                    self._record(invariant, finding, result)
        except CouldNotCheck as reason:
            result.crash = str(reason)
        except Exception as error:
            # However a check fails, the others still run.
            logger.exception("a check crashed", check=invariant.code)
            result.crash = f"{type(error).__name__}: {error}".strip()
        result.seconds = time.monotonic() - began
        self._results.append(result)
        self._listener.check_finished(result)

    def close(self, *, is_complete: bool, acts: bool) -> None:
        """Keep the run, then stop payouts where an error was found, if it acts."""
        run, results = self._run, self._results
        run.checks = [
            {
                "check": result.invariant.code,
                "title": result.invariant.title,
                "warnings": result.warning_count,
                "errors": result.error_count,
                "explained": result.explained_count,
                "seconds": round(result.seconds, 3),
                "crash": result.crash,
            }
            for result in results
        ]
        run.warning_count = sum(result.warning_count for result in results)
        run.error_count = sum(result.error_count for result in results)
        run.explained_count = sum(result.explained_count for result in results)
        is_complete = is_complete and not any(result.crash for result in results)
        run.outcome = _outcome(run, is_complete=is_complete)
        if is_complete and self._read_until:
            run.options["readUntil"] = self._read_until
        run.summary = self.explained.summary(is_complete=is_complete and self._scope.reads_chains)
        run.finished_at = timezone.now()
        run.save()
        if self._reasons and acts:
            run.breakers = _stop_payouts(self._scope, self._reasons, run)
            run.save(update_fields=["breakers"])

    def _findings_of(self, invariant: Invariant) -> Iterable[Finding]:
        if self._scope.reads_chains or not invariant.reads_chain:
            return invariant.check(self._scope)
        proposal = "run it again without --no-chain"
        return [Finding("the chains", "asked", "left out", proposal, severity=Severity.WARNING)]

    def _record(self, invariant: Invariant, finding: Finding, result: CheckResult) -> None:
        record = finding_record(invariant, finding)
        if understood := self._understood.get(record["id"]):
            result.explained_count += 1
            record["explained"] = {
                "by": understood.explained_by,
                "note": understood.note,
                "until": understood.until.isoformat(),
            }
        elif record["severity"] == Severity.ERROR:
            result.error_count += 1
            reason = f"{invariant.code} {finding.subject}: expected {finding.expected}, found {finding.actual}"
            self._reasons.setdefault((finding.environment, finding.network), reason)
        else:
            result.warning_count += 1
        self.explained.take(invariant, finding)
        if len(self._run.findings) < FINDINGS_KEPT:
            self._run.findings.append(record)
        self._listener.found(record)


def _outcome(run: ReconcileRun, *, is_complete: bool) -> ReconcileOutcome:
    if not is_complete:
        return ReconcileOutcome.UNFINISHED
    if run.error_count:
        return ReconcileOutcome.DISCREPANCY
    return ReconcileOutcome.WARNINGS if run.warning_count else ReconcileOutcome.CLEAN


def _stop_payouts(
    scope: Scope, reasons: Mapping[tuple[str | None, str | None], str], run: ReconcileRun
) -> list[dict[str, Any]]:
    """Stop payouts on the network of each error; on every network of the scope for one that names none."""
    opened = []
    for key in _network_keys(scope, reasons):
        environment, network = key
        reason = next(reason for where, reason in reasons.items() if _covers(where, key))
        is_new = stop(environment=environment, network=network, reason=f"reconcile {run.pk}: {reason}")
        opened.append({"environment": environment, "network": network, "reason": reason, "isNew": is_new})
    return opened


def _network_keys(scope: Scope, reasons: Iterable[tuple[str | None, str | None]]) -> list[NetworkKey]:
    accounts = Account.objects.filter(environment__in=scope.environments)
    if scope.network:
        accounts = accounts.filter(network=scope.network)
    in_scope = set(accounts.order_by().values_list("environment", "network").distinct())
    named = {(environment, network) for environment, network in reasons if environment and network}
    return sorted(named | {key for key in in_scope if any(_covers(where, key) for where in reasons)})


def _covers(where: tuple[str | None, str | None], key: NetworkKey) -> bool:
    return all(part in (None, known) for part, known in zip(where, key, strict=True))
