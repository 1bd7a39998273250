"""`manage.py doctor`: whether this installation is right, a line for each thing that was looked at."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.doctor import registry
from config.doctor.registry import SECONDS, Asked, Finding, Level


class Command(BaseCommand):
    help = (
        "Looks at everything an installation needs and says of each thing whether it is well and what to do. Changes "
        "nothing, and may run on a busy production at any time. Exits with 1 if anything fails; a warning is no "
        "failure."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="One JSON document instead of lines.")
        parser.add_argument("--production", action="store_true", help="Also everything of check --deploy.")
        parser.add_argument(
            "--mail",
            nargs="*",
            metavar="ADDRESS",
            help="Also send a mail, to these addresses or to OPERATOR_EMAILS.",
        )
        parser.add_argument("--only", nargs="+", default=[], metavar="CHECK", help="Only these checks.")
        parser.add_argument(
            "--seconds", type=float, default=SECONDS, help="The longest time for one check; 0: as long as it takes."
        )

    def handle(
        self,
        *,
        json: bool = False,
        production: bool = False,
        mail: list[str] | None = None,
        only: Iterable[str] = (),
        seconds: float = SECONDS,
        **options: Any,
    ) -> None:
        if unknown := sorted({*only} - {*registry.names()}):
            raise CommandError(f"There is no check {unknown[0]!r}. There are: {', '.join(registry.names())}.")
        recipients = () if mail is None else tuple(mail or settings.OPERATOR_EMAILS)
        if mail is not None and not recipients:
            raise CommandError("OPERATOR_EMAILS is empty: name an address after --mail.")
        asked = Asked(deploy=production, mail_to=recipients, seconds=seconds)
        self._is_shown = not json and self.stderr.isatty()
        found = list[Finding]()
        before = logging.root.manager.disable
        logging.disable(logging.CRITICAL)  # the lines say it
        try:
            for finding in registry.examine(asked, only=only, begins=self._show_progress):
                found.append(finding)
                self._show_progress("")
                if not json:
                    self._show(finding)
        finally:
            logging.disable(before)
        self._show_progress("")
        if json:
            self._write_json(found)
        self._end(found)

    def _show_progress(self, name: str) -> None:
        """The check that runs, on a terminal: its line is written over."""
        if self._is_shown:
            self.stderr.write(f"\r\x1b[K{name and f'…     {name}'}", style_func=str, ending="")
            self.stderr.flush()

    def _show(self, finding: Finding) -> None:
        style = {Level.OK: self.style.SUCCESS, Level.WARN: self.style.WARNING, Level.FAIL: self.style.ERROR}
        self.stdout.write(f"{style[finding.level](f'{finding.level:5}')} {finding.name}: {finding.text}")
        if finding.advice:
            self.stdout.write(f"      {finding.advice}")
        self.stdout.flush()

    def _write_json(self, found: Iterable[Finding]) -> None:
        found = list(found)
        worst = next((level for level in (Level.FAIL, Level.WARN) if any(each.level == level for each in found)), "ok")
        document = {"status": worst, "findings": [asdict(each) for each in found]}
        self.stdout.write(json.dumps(document, indent=2, ensure_ascii=False))

    def _end(self, found: Iterable[Finding]) -> None:
        count = Counter(each.level for each in found)
        said = f"{count[Level.OK]} ok, {count[Level.WARN]} to look at, {count[Level.FAIL]} failed."
        if count[Level.FAIL]:
            raise CommandError(said)
        self.stderr.write(said, style_func=self.style.WARNING if count[Level.WARN] else self.style.SUCCESS)
