"""`manage.py breaker`: shows the networks whose payouts are stopped, stops them, and lets them go on."""

from __future__ import annotations

import getpass
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.environments import Environment
from config.errors import DomainError
from merchants.four_eyes.people import operator_of_command, people_needed
from merchants.ledger.breakers import close_breaker, open_breaker, propose_closing
from merchants.ledger.models import Breaker


class Command(BaseCommand):
    help = (
        "Shows where payouts are stopped. With --open REASON it stops those of a network, with --close it lets them go "
        "on, under the name of whoever says so."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--env", choices=Environment.values)
        parser.add_argument("--network")
        parser.add_argument("--asset", default="", help="One coin alone, with its sweeps and new payments.")
        change = parser.add_mutually_exclusive_group()
        change.add_argument("--open", metavar="REASON", help="Stop payouts of the network.")
        change.add_argument("--close", action="store_true", help="Let payouts of the network go on.")
        parser.add_argument("--by", metavar="EMAIL", help="Who has looked: an operator.")

    def handle(self, **options: Any) -> None:
        environment, network = options["env"], options["network"]
        if not options["open"] and not options["close"]:
            self._show(environment, network)
            return
        if not (environment and network):
            raise CommandError("Name the network: --env and --network.")
        place = {"environment": environment, "network": network, "asset": options["asset"]}
        name = f"{Breaker(**place).what} ({environment})"
        if options["close"]:
            self._close(place, name, options["by"] or getpass.getuser())
        else:
            if not open_breaker(**place, reason=options["open"]):
                raise CommandError(f"Payouts of {name} are stopped already.")
            self.stdout.write(f"Payouts of {name} are stopped.")

    def _close(self, place: dict[str, str], name: str, by: str) -> None:
        """Where more than one operator must agree, `by` is the address of one, who proposes it or agrees to it."""
        stopped = Breaker.objects.filter(**place, closed_at__isnull=True).first()
        if stopped is None:
            raise CommandError(f"Payouts of {name} are not stopped.")
        if people_needed(stopped.environment) == 1:
            close_breaker(**place, closed_by=by)
            self.stdout.write(f"Payouts of {name} go on, says {by}.")
            return
        try:
            person = operator_of_command(by, permission="ledger.change_breaker", environment=stopped.environment)
            proposal = propose_closing(stopped, by=person)
        except DomainError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"{proposal}: {proposal.get_status_display()}.")

    def _show(self, environment: str | None, network: str | None) -> None:
        stopped = Breaker.objects.filter(closed_at__isnull=True).order_by("environment", "network")
        if environment:
            stopped = stopped.filter(environment=environment)
        if network:
            stopped = stopped.filter(network=network)
        for breaker in stopped:
            self.stdout.write(f"{breaker.what} ({breaker.environment}) since {breaker.opened_at:%Y-%m-%d %H:%M:%S}")
            self.stdout.write(f"    {breaker.reason}")
        if not stopped:
            self.stdout.write("Payouts are stopped nowhere.")
