"""`manage.py stops`: shows what is stopped, stops payouts or a merchant, and lets them go on."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.environments import Environment
from config.errors import DomainError, InvalidParameter
from merchants.four_eyes.people import operator_of_command
from merchants.ledger import stops
from merchants.ledger.models import Stop, StopKind
from merchants.models import Merchant


class Command(BaseCommand):
    help = (
        "Shows what is stopped, why, since when, who may lift it and how. With --stop REASON it stops payouts of an "
        "environment, a network, a coin, a wallet or a merchant, with --suspend REASON a merchant as a "
        "whole; with --lift it proposes that one goes on: another operator agrees in the admin."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--env", choices=Environment.values)
        parser.add_argument("--network", default="", help="Without one, --stop stops all payouts of the environment.")
        parser.add_argument("--asset", default="", help="One coin alone, with its sweeps and new payments.")
        parser.add_argument("--address", default="", help="One hot wallet alone: nothing is signed for it.")
        parser.add_argument("--merchant", metavar="ID", help="Payouts of one merchant alone: mer_...")
        parser.add_argument("--halt", action="store_true", help="Of a network: stop reading and crediting as well.")
        change = parser.add_mutually_exclusive_group()
        change.add_argument("--stop", metavar="REASON", help="Stop payouts there.")
        change.add_argument(
            "--suspend", metavar="REASON", help="Suspend --merchant as a whole: keys, links and changes are refused."
        )
        change.add_argument("--lift", metavar="NUMBER", type=int, help="Let what has this number go on.")
        parser.add_argument("--by", metavar="EMAIL", default="", help="Who lifts or suspends: an operator.")
        parser.add_argument("--note", default="", help="What was found out; it is kept.")

    def handle(self, **options: Any) -> None:
        place = {
            "environment": options["env"],
            "network": options["network"],
            "asset": options["asset"],
            "address": options["address"],
        }
        merchant = _merchant(options["merchant"]) if options["merchant"] else None
        if options["suspend"]:
            self._suspend(merchant, options["suspend"], options["by"])
        elif options["stop"]:
            self._stop({**place, "merchant": merchant}, options["stop"], StopKind.HALT if options["halt"] else None)
        elif options["lift"]:
            self._lift(options["lift"], options["by"], options["note"])
        else:
            self._show({name: value for name, value in place.items() if value})

    def _stop(self, place: dict[str, Any], reason: str, kind: StopKind | None) -> None:
        if not place["environment"]:
            raise CommandError("Say where: --env.")
        try:
            stops.require_known(**place, kind=kind)
        except InvalidParameter as error:
            raise CommandError(error.message) from error
        stopped = Stop(kind=kind or stops.kind_of(**place), **place)
        if not stops.stop(kind, **place, reason=reason):
            raise CommandError(f"{stopped} is stopped already.")
        self.stdout.write(f"{stopped} is stopped.")

    def _suspend(self, merchant: Merchant | None, reason: str, by: str) -> None:
        if merchant is None:
            raise CommandError("Say whom: --merchant.")
        try:
            person = operator_of_command(by, permission="merchants.change_merchant", environment=Environment.PRODUCTION)
        except DomainError as error:
            raise CommandError(error.message) from error
        if not stops.suspend_merchant(merchant=merchant, reason=reason, by=person):
            raise CommandError(f"{merchant} is suspended already.")
        self.stdout.write(f"{merchant} is suspended.")

    def _lift(self, number: int, by: str, note: str) -> None:
        found = Stop.objects.standing().filter(pk=number).first()
        if found is None:
            raise CommandError(f"{number} does not stand.")
        try:
            permission = stops.permission_to_lift(found)
            person = operator_of_command(by, permission=permission, environment=found.environment)
            proposal = stops.propose_lifting(found, by=person, note=note)
        except DomainError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"{proposal}: {proposal.get_status_display()}.")

    def _show(self, place: dict[str, str]) -> None:
        rows = Stop.objects.standing().filter(**place).order_by("environment", "network", "pk")
        found = [(f"{each.pk}  ", stops.listed(each)) for each in rows] + [("", each) for each in stops.elsewhere()]
        for number, each in found:
            since = f" since {each.since:%Y-%m-%d %H:%M:%S}" if each.since else ""
            self.stdout.write(f"{number}{each.what}{since}: {each.reason}")
            self.stdout.write(f"    lifted by {each.who}. {each.how}")
        if not found:
            self.stdout.write("Nothing is stopped.")


def _merchant(public_id: str) -> Merchant:
    key = Merchant.public_ids.decode(public_id)
    found = Merchant.objects.filter(pk=key).first() if key else None
    if found is None:
        raise CommandError(f"There is no merchant {public_id}.")
    return found
