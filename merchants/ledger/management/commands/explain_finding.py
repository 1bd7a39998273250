"""`manage.py explain_finding`: explains a finding of reconcile, so that nothing reacts to it for a while."""

from __future__ import annotations

import getpass
from argparse import ArgumentTypeError
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from config.environments import Environment
from config.errors import DomainError
from merchants.four_eyes.models import Proposal
from merchants.four_eyes.people import operator_of_command
from merchants.ledger import explained_findings
from merchants.ledger.models import ExplainedFinding


class Command(BaseCommand):
    help = (
        "Shows which findings of reconcile are explained. With an id, as reconcile prints it beside each finding, an "
        "operator proposes to explain it, and another agrees in the admin. Then runs go on listing it, and neither "
        "exit code nor stop reacts to it until its figure changes or the time is over."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("finding", nargs="?", help="The id of the finding.")
        parser.add_argument("--note", help="What it is, for whoever reads the next run.")
        parser.add_argument("--until", type=_instant, help="Until when (ISO 8601); then it counts again.")
        parser.add_argument("--withdraw", action="store_true", help="It is not understood after all.")
        parser.add_argument("--by", metavar="EMAIL", help="Who proposes it: the address of an operator.")

    def handle(self, **options: Any) -> None:
        finding, by = options["finding"], options["by"] or getpass.getuser()
        if finding is None:
            self._show()
        elif options["withdraw"]:
            self._withdraw(finding, by)
        elif not options["note"] or options["until"] is None:
            raise CommandError("Say what it is and until when: --note and --until.")
        else:
            try:
                proposal = self._propose(finding, by, options["note"], options["until"])
            except DomainError as error:
                raise CommandError(error.message) from error
            self.stdout.write(f"{proposal}, says {by}. {proposal.get_status_display()}.")

    def _propose(self, finding: str, by: str, note: str, until: datetime) -> Proposal:
        environment = explained_findings.find(finding)["environment"] or Environment.PRODUCTION
        person = operator_of_command(by, permission="ledger.add_explainedfinding", environment=environment)
        return explained_findings.propose_explaining(finding, note=note, until=until, by=person)

    def _withdraw(self, finding: str, by: str) -> None:
        standing = explained_findings.in_force(timezone.now()).get(finding)
        if standing is None or not explained_findings.withdraw(standing, withdrawn_by=by):
            raise CommandError("No finding with this id is explained.")
        self.stdout.write(f"{standing} counts again, says {by}.")

    def _show(self) -> None:
        standing = explained_findings.in_force(timezone.now())
        for explained in standing.values():
            self._show_one(explained)
        if not standing:
            self.stdout.write("Nothing is explained.")

    def _show_one(self, explained: ExplainedFinding) -> None:
        self.stdout.write(f"{explained.finding}  {explained}")
        self.stdout.write(f"    until {explained.until:%Y-%m-%d %H:%M}, {explained.explained_by}: {explained.note}")


def _instant(text: str) -> datetime:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not an ISO 8601 instant") from None
    return instant if timezone.is_aware(instant) else timezone.make_aware(instant)
