"""`manage.py skim`: shows what hot wallets do not need, and proposes that some of it leaves for the cold wallet."""

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
from payments.chains import registry
from payments.chains.errors import ChainError
from payments.treasury.house.cold.skims import propose_skim
from payments.treasury.house.cold.wallet_target import in_use


class Command(BaseCommand):
    help = (
        "Proposes that coins of a hot wallet leave for the cold wallet. As many operators must agree as the "
        "environment asks for. Without --amount it shows what hot wallets hold beyond HOT_WALLET_FLOAT and payouts."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--env", choices=Environment.values, required=True)
        parser.add_argument("--network")
        parser.add_argument("--asset", help="A coin.")
        parser.add_argument("--amount", type=_decimal, help="In whole coins.")
        parser.add_argument("--reason", help="What it is for: kept with the skim.")
        parser.add_argument("--by", metavar="EMAIL", help="The operator who proposes it.")

    def handle(self, **options: Any) -> None:
        if options["amount"] is None:
            for each in in_use(options["env"]):
                held = f"hot {each.shown(each.hot)}, free {each.shown(each.free)}, cold {each.shown(each.cold)}"
                self.stdout.write(f"{each.asset.network}: {held}; skim {each.shown(each.to_skim)}")
            return
        if lacking := [name for name in ("network", "asset", "reason", "by") if not options[name]]:
            raise CommandError(f"Say {', '.join(f'--{name}' for name in lacking)} as well.")
        try:
            person = operator_of_command(options["by"], permission="house.add_withdrawal", environment=options["env"])
            asset = registry.asset(options["env"], options["network"], options["asset"].upper())
            units = to_units(options["amount"], asset.decimals)
            proposal = propose_skim(options["env"], asset, amount=units, reason=options["reason"], by=person)
        except (DomainError, AmountNotExact, ChainError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(str(proposal))
        if proposal.status == ProposalStatus.DONE:
            self.stdout.write(self.style.SUCCESS("Agreed to: the coins are reserved, and leave for the cold wallet."))
        else:
            self.stdout.write("Another operator must agree: Admin → Proposals.")


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ArgumentTypeError(f"{text!r} is no amount") from None
