"""`manage.py fund`: proposes that coins in the hot wallet, there already or to come, are the house's."""

from __future__ import annotations

from argparse import ArgumentTypeError
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.environments import Environment
from config.errors import DomainError
from config.money import AmountNotExact, to_units
from merchants.four_eyes.models import ProposalStatus
from merchants.four_eyes.people import operator_of_command
from payments.treasury.house.fundings import coin_of, propose_funding
from payments.treasury.house.models import Funding


class Command(BaseCommand):
    help = (
        "Proposes that coins which you send to a hot wallet are the house's. Once as many operators have agreed as "
        "must, they are booked when they are seen in a final block."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--env", choices=Environment.values, required=True)
        parser.add_argument("--network", required=True)
        parser.add_argument("--asset", required=True, help="A coin, or the network's own: ETH, POL, XLM.")
        parser.add_argument("--amount", type=_decimal, required=True, help="In whole coins.")
        parser.add_argument("--reason", required=True, help="What they are for: kept with them.")
        parser.add_argument("--by", metavar="EMAIL", required=True, help="The operator who proposes it.")

    def handle(self, **options: Any) -> None:
        try:
            person = operator_of_command(options["by"], permission="house.add_funding", environment=options["env"])
            asset = coin_of(options["env"], options["network"], options["asset"].upper())
            units = to_units(options["amount"], asset.decimals)
            proposal = propose_funding(options["env"], asset, amount=units, reason=options["reason"], by=person)
        except (DomainError, AmountNotExact) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(str(proposal))
        if proposal.status == ProposalStatus.DONE:
            self.stdout.write(self.style.SUCCESS(f"Expected: {Funding.objects.latest('pk')}"))
        else:
            self.stdout.write("Another operator must agree: Admin → Proposals.")


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ArgumentTypeError(f"{text!r} is no amount") from None
