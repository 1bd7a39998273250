"""`manage.py reconcile`: does everything add up? Exit 0 clean, 1 warnings, 2 discrepancy, 3 could not finish."""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from django.core.management.base import BaseCommand, CommandError, CommandParser, OutputWrapper
from django.utils import timezone

from config.database.advisory_locks import named_lock
from config.environments import Environment
from merchants.ledger.checking import CouldNotCheck, Invariant, Scope, registered
from merchants.ledger.models import Account, ReconcileOutcome, ReconcileRun
from merchants.ledger.quick import quick_scope
from merchants.ledger.reconciliation import EXIT_CODES, ONE_AT_A_TIME, CheckResult, reconcile

COULD_NOT_FINISH = EXIT_CODES[ReconcileOutcome.UNFINISHED]
WriteLine = Callable[[str], object]

WAITS_SECONDS = 600
"""For how long another run is waited for: at a million payments a full one takes a minute and a half."""

FINDINGS_SHOWN = 20
"""Findings shown of each check; the JSON output has all."""


class Command(BaseCommand):
    help = (
        "Checks the ledger and everything that must agree with it, over one snapshot. "
        "Exit code 0: clean, 1: warnings, 2: discrepancy, 3: could not finish."
    )
    requires_system_checks = ()

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        # argparse would exit with 2, which means here that money is missing.
        if parser.called_from_command_line:
            parser.error = self._refuse_arguments  # type: ignore[method-assign]  # the class is chosen by Django
        return parser

    def _refuse_arguments(self, message: str) -> NoReturn:
        self.stderr.write(f"reconcile: {message}")
        sys.exit(COULD_NOT_FINISH)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--env", choices=[*Environment.values, "all"], default="all", help="Default: all.")
        parser.add_argument("--network", help="Only this network.")
        extent = parser.add_mutually_exclusive_group()
        extent.add_argument("--full", action="store_true", help="Everything (the default).")
        extent.add_argument(
            "--quick", action="store_true", help="What changed since the last run, and a share of the rest."
        )
        extent.add_argument("--since", type=_instant, help="Only what was touched since this instant (ISO 8601).")
        parser.add_argument(
            "--at-block", type=_height, metavar="HEIGHT", help="Compare the wallets of --network at this final height."
        )
        parser.add_argument("--no-chain", action="store_true", help="Ask no chain: such a run is never clean.")
        parser.add_argument(
            "--json", metavar="FILE", help="Write findings and a summary as JSON lines; - for standard output."
        )

    def handle(self, **options: Any) -> None:
        environments = Environment.values if options["env"] == "all" else [options["env"]]
        limits: dict[str, Any] = {"environments": tuple(environments), "network": options["network"]}
        limits["options"] = {"at_block": options["at_block"], "no_chain": options["no_chain"]}
        try:
            scope = Scope(since=options["since"], **limits)
            if scope.at_block is not None and not (scope.network and scope.reads_chains):
                raise CouldNotCheck("--at-block needs a --network, and to ask it")
            if scope.network and not Account.objects.filter(network=scope.network).exists():
                raise CouldNotCheck(f"no account is on a network named {scope.network!r}")
            people = self.stderr if options["json"] == "-" else self.stdout
            with _turn(people), _json_lines(self, options["json"]) as write_json:
                if options["quick"]:
                    # By what the last run has read, which may be the one that was waited for.
                    scope = quick_scope(**limits)
                report = Report(self, write_json, people=people)
                report.begin(scope)
                run = reconcile(scope, registered(), report)
                report.end(run)
        except CouldNotCheck as error:
            raise CommandError(str(error), returncode=COULD_NOT_FINISH) from error
        except Exception as error:
            raise CommandError(
                f"could not finish: {type(error).__name__}: {error}", returncode=COULD_NOT_FINISH
            ) from error
        if code := EXIT_CODES[ReconcileOutcome(run.outcome)]:
            sys.exit(code)


def _instant(text: str) -> datetime:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not an ISO 8601 instant") from None
    return instant if timezone.is_aware(instant) else timezone.make_aware(instant)


def _height(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise ArgumentTypeError(f"{text!r} is not the height of a block")
    return int(text)


@contextmanager
def _turn(people: OutputWrapper) -> Iterator[None]:
    """Holds the lock of reconcile; CouldNotCheck when another run does not end."""
    deadline = time.monotonic() + WAITS_SECONDS
    is_waiting = False
    while True:
        with named_lock(ONE_AT_A_TIME) as is_ours:
            if is_ours:
                yield
                return
        if time.monotonic() >= deadline:
            raise CouldNotCheck(f"another reconcile is running, for more than {WAITS_SECONDS} seconds")
        if not is_waiting:
            # OutputWrapper paints standard error red by default.
            people.write("Another reconcile is running: this one begins when it has ended", style_func=str)
            people.flush()
            is_waiting = True
        time.sleep(1)


@contextmanager
def _json_lines(command: BaseCommand, target: str | None) -> Iterator[WriteLine | None]:
    if target is None:
        yield None
    elif target == "-":
        yield command.stdout.write
    else:
        with Path(target).open("w", encoding="utf-8") as file:
            yield file.write


class Report:
    """Writes a table for people, and JSON lines beside it if requested."""

    def __init__(self, command: BaseCommand, write_json: WriteLine | None, *, people: OutputWrapper) -> None:
        self._write_line = write_json
        self._people = people
        self._style = command.style
        self._progress = command.stderr if command.stderr.isatty() else None
        self._shown = 0
        self._waiting: list[str] = []

    def begin(self, scope: Scope) -> None:
        extent = f"touched since {scope.since.isoformat()}" if scope.since else "everything"
        extent += " and a share of the rest" if scope.share else ""
        parts = [f"Reconciling {' and '.join(scope.environments)}", scope.network or "all networks", extent]
        if scope.at_block is not None:
            parts.append(f"wallets at block {scope.at_block}")
        if not scope.reads_chains:
            parts.append("asking no chain")
        self._write(", ".join(parts))

    def check_started(self, invariant: Invariant, position: int, total: int) -> None:
        self._waiting = []
        self._shown = 0
        if self._progress:
            self._progress.write(f"\r[{position}/{total}] {invariant.code} {invariant.title[:80]} …", ending="")
            self._progress.flush()

    def found(self, record: Mapping[str, Any]) -> None:
        self._write_json(record)
        self._shown += 1
        if self._shown > FINDINGS_SHOWN:
            return
        delta = f" ({int(record['delta']):+,})" if record["delta"] is not None else ""
        word = "explained" if record["explained"] else record["severity"]
        self._waiting.append(f"        {word}: {record['subject']}")
        self._waiting.append(f"            expected {record['expected']}, found {record['actual']}{delta}")
        if stated := record["explained"]:
            self._waiting.append(
                f"            {stated['by']}, until {stated['until'][:16]}: {stated['note']}  [{record['id']}]"
            )
        else:
            self._waiting.append(f"            → {record['proposal']}  [{record['id']}]")

    def check_finished(self, result: CheckResult) -> None:
        if self._progress:
            self._progress.write("\r\x1b[K", ending="")
        verdict = _verdict(result)
        line = f"  {result.invariant.code:<5} {verdict:<22} {result.seconds:7.2f} s  {result.invariant.title}"
        self._write(self._style.SUCCESS(line) if verdict == "ok" else self._style.ERROR(line))
        for text in self._waiting:
            self._write(text)
        if self._shown > FINDINGS_SHOWN:
            self._write(f"        and {self._shown - FINDINGS_SHOWN:,} more; --json lists all")
        if result.crash:
            self._write(f"        {result.crash}")

    def end(self, run: ReconcileRun) -> None:
        finished_at = run.finished_at or timezone.now()
        seconds = (finished_at - run.started_at).total_seconds()
        self._write_json(
            {
                "summary": run.outcome,
                "exitCode": EXIT_CODES[ReconcileOutcome(run.outcome)],
                "run": str(run.pk),
                "startedAt": run.started_at.isoformat(),
                "seconds": round(seconds, 3),
                "options": run.options,
                "errors": run.error_count,
                "warnings": run.warning_count,
                "explained": run.explained_count,
                "checks": run.checks,
                **run.summary,
                "breakers": run.breakers,
            }
        )
        for breaker in run.breakers:
            word = "stopped" if breaker["isNew"] else "were stopped already"
            self._write(self._style.ERROR(f"Payouts {word}: {breaker['environment']} {breaker['network']}"))
        if run.breakers:
            self._write("        A person lets them go on: admin, Stops; or manage.py stops --lift")
        bound = "" if run.summary["isComplete"] else "at most "
        self._write(
            f"Value explained: {bound}{run.summary['valueExplained']} % of the coins in the ledger; "
            f"{run.summary['unexplainedCount']:,} unexplained"
        )
        for pot in run.summary["unexplained"]:
            name = f"{pot['environment']} {pot['network']} {pot['asset']}"
            self._write(f"        {name}: {int(pot['amount']):,} base units, {pot['valueExplained']} % explained")
        explained = f", {run.explained_count:,} explained" if run.explained_count else ""
        text = (
            f"{ReconcileOutcome(run.outcome).label}: {run.error_count:,} errors, {run.warning_count:,} warnings"
            f"{explained} in {len(run.checks)} checks, {seconds:.1f} s"
        )
        clean = run.outcome == ReconcileOutcome.CLEAN
        self._write(self._style.SUCCESS(text) if clean else self._style.ERROR(text))

    def _write(self, text: str) -> None:
        # OutputWrapper paints standard error red by default.
        self._people.write(text, style_func=str)

    def _write_json(self, record: Mapping[str, Any]) -> None:
        if self._write_line:
            self._write_line(json.dumps(record, ensure_ascii=False) + "\n")


def _verdict(result: CheckResult) -> str:
    if result.crash:
        return "could not finish"
    counts = [(result.error_count, "error"), (result.warning_count, "warning")]
    parts = [f"{count:,} {noun}{'s' * (count > 1)}" for count, noun in counts if count]
    parts += [f"{result.explained_count:,} explained"] if result.explained_count else []
    return ", ".join(parts) or "ok"
