"""`manage.py breaker`: shows the networks whose payouts are stopped, stops them, and lets them go on."""

from __future__ import annotations

import getpass
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.environments import Environment
from merchants.ledger.breakers import close_breaker, open_breaker
from merchants.ledger.models import Breaker


class Command(BaseCommand):
    help = (
        "Shows where payouts are stopped. With --open REASON it stops those of a network, with --close it lets them go "
        "on, under the name of whoever says so."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--env", choices=Environment.values)
        parser.add_argument("--network")
        change = parser.add_mutually_exclusive_group()
        change.add_argument("--open", metavar="REASON", help="Stop payouts of the network.")
        change.add_argument("--close", action="store_true", help="Let payouts of the network go on.")
        parser.add_argument("--by", metavar="NAME", help="Who has looked. Default: the account this runs under.")

    def handle(self, **options: Any) -> None:
        environment, network = options["env"], options["network"]
        if not options["open"] and not options["close"]:
            self._show(environment, network)
            return
        if not (environment and network):
            raise CommandError("Name the network: --env and --network.")
        name = f"{network} ({environment})"
        if options["close"]:
            by = options["by"] or getpass.getuser()
            if not close_breaker(environment=environment, network=network, closed_by=by):
                raise CommandError(f"Payouts of {name} are not stopped.")
            self.stdout.write(f"Payouts of {name} go on, says {by}.")
        else:
            if not open_breaker(environment=environment, network=network, reason=options["open"]):
                raise CommandError(f"Payouts of {name} are stopped already.")
            self.stdout.write(f"Payouts of {name} are stopped.")

    def _show(self, environment: str | None, network: str | None) -> None:
        stopped = Breaker.objects.filter(closed_at__isnull=True).order_by("environment", "network")
        if environment:
            stopped = stopped.filter(environment=environment)
        if network:
            stopped = stopped.filter(network=network)
        for breaker in stopped:
            self.stdout.write(f"{breaker.network} ({breaker.environment}) since {breaker.opened_at:%Y-%m-%d %H:%M:%S}")
            self.stdout.write(f"    {breaker.reason}")
        if not stopped:
            self.stdout.write("Payouts are stopped nowhere.")
