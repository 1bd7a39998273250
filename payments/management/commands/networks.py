"""`manage.py networks`: shows the state of the networks in one table, from what the workers have measured, and requests
that blocks are read again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import QuerySet

from config.environments import Environment
from config.errors import DomainError
from payments.chains.settings_parser import single_provider_name
from payments.deposits.watching import request_range
from payments.monitoring.figures import NetworkFigures, coins_text, figures_of, snapshots_in_use
from payments.monitoring.models import Alarm


class Command(BaseCommand):
    help = (
        "Shows each network's head, providers, open alarms, gas balance, and what waits to be swept at what cost. "
        "Dust is apart. No network is asked: check_networks does that. With --rescan the watcher reads final blocks "
        "again, for deposits that are not recorded."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--env", choices=Environment.values, help="Only this one; default both.")
        parser.add_argument("--network", help="Only this one; default all.")
        parser.add_argument(
            "--rescan", nargs=2, type=int, metavar=("FIRST", "LAST"), help="Read these blocks of --network again."
        )

    def handle(self, *, env: str | None, network: str | None, rescan: list[int] | None, **options: Any) -> None:
        if rescan:
            self._rescan(env, network, *rescan)
            return
        shown = [
            each for each in snapshots_in_use() if env in (None, each.environment) and network in (None, each.network)
        ]
        for snapshot in shown:
            self.stdout.write(f"{snapshot}")
            for name, text in _lines(figures_of(snapshot)):
                self.stdout.write(f"  {name:10} {text}")
        measured = {(each.environment, each.network) for each in shown}
        for alarm in _alarms(env, network):
            if (alarm.environment, alarm.network) not in measured:
                self.stdout.write(f"{alarm.network} ({alarm.environment}): ALARM {_in_words(alarm)}")
        if not shown:
            self.stdout.write("Nothing has been measured yet: see that a worker and beat run.")

    def _rescan(self, env: str | None, network: str | None, first: int, last: int) -> None:
        if not env or not network:
            raise CommandError("Say where: --env and --network.")
        try:
            wanted = request_range(env, network, first, last)
        except DomainError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"The watcher reads {wanted}. `networks` shows how far it is.")


def _alarms(environment: str | None, network: str | None) -> QuerySet[Alarm]:
    """The open ones of networks."""
    where = {"environment": environment, "network": network}
    found = Alarm.objects.open().filter(**{field: name for field, name in where.items() if name})
    return found.exclude(network="").order_by("environment", "network", "pk")


def _in_words(alarm: Alarm) -> str:
    subject = f" ({alarm.subject})" if alarm.subject else ""
    return f"{alarm.get_kind_display()}{subject}: {alarm.message}"


def _lines(figures: NetworkFigures) -> Iterator[tuple[str, str]]:
    for alarm in figures.alarms:
        yield "ALARM", _in_words(alarm)
    final = f", {figures.cursor.finalized_height:,} final, {figures.lag:,} behind" if figures.cursor else ""
    yield "head", f"{figures.head}{final}"
    for name, problems in figures.providers.items():
        yield "provider", f"{name}: {'; '.join(problems) or 'well'}"
    if figures.decided_by_one:
        yield "WARNING", f"one provider decides about money alone: {single_provider_name(figures.snapshot.network)}"
    if figures.tank is None:
        yield "gas tank", f"not measured: {figures.snapshot.last_error or 'no worker has looked yet'}"
    else:
        held, wanted = (coins_text(units, figures.native) for units in (figures.tank.balance, figures.tank.wanted))
        yield "gas tank", f"{held}, should be {wanted}; enough for {figures.tank.use}"
    for coin in figures.coins:
        cost = f", about {coins_text(coin.sweep_cost, figures.native)}" if coin.worth else ""
        yield coin.asset.code, f"{coin.sweepable_text}: {coin.outlook}{cost}; dust: {coin.dust_text}"
    if figures.stray:
        yield "mistakes", f"{coins_text(figures.stray, figures.native)} at deposit addresses: manage.py sweep_native"
    if figures.rescan is not None:
        yield "rescan", f"blocks {figures.rescan}{f': {figures.rescan.problem}' if figures.rescan.problem else ''}"
    if figures.last_sweep is not None:
        sweep = figures.last_sweep
        yield "last sweep", f"{sweep.asset}, {sweep.transfer.status}, {sweep.transfer.created_at:%Y-%m-%d %H:%M:%S}"
