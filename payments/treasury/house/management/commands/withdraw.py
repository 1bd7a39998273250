"""`manage.py withdraw`: shows what the house has of its own, and proposes that some of it leaves."""

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
from payments.treasury.house.house_balance import house_balances
from payments.treasury.house.models import AllowedAddress
from payments.treasury.house.withdrawals import propose_withdrawal


class Command(BaseCommand):
    help = (
        "Proposes that coins of the house's own leave for an address of the allow list. As many operators must agree "
        "as the environment asks for. Without --amount it shows what can be withdrawn, and where to."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--env", choices=Environment.values, required=True)
        parser.add_argument("--network")
        parser.add_argument("--asset", help="A coin.")
        parser.add_argument("--amount", type=_decimal, help="In whole coins.")
        parser.add_argument("--to", metavar="ADDRESS", help="An address of the allow list.")
        parser.add_argument("--memo", default="", help="Of the address, where it has one.")
        parser.add_argument("--reason", help="What it is for: kept with the withdrawal.")
        parser.add_argument("--by", metavar="EMAIL", help="The operator who proposes it.")

    def handle(self, **options: Any) -> None:
        if options["amount"] is None:
            self._show(options["env"])
            return
        if lacking := [name for name in ("network", "asset", "to", "reason", "by") if not options[name]]:
            raise CommandError(f"Say {', '.join(f'--{name}' for name in lacking)} as well.")
        try:
            self._propose(options)
        except (DomainError, AmountNotExact) as error:
            raise CommandError(str(error)) from error

    def _show(self, environment: str) -> None:
        for balance in house_balances(environment):
            if not balance.is_native:
                own = balance.shown(balance.own)
                self.stdout.write(f"{own:>40}  on {balance.network}")
        listed = AllowedAddress.objects.filter(
            environment=environment, allowed_at__isnull=False, removed_at__isnull=True
        )
        for address in listed.order_by("network", "label"):
            self.stdout.write(f"--to {address.address}  {address}")

    def _propose(self, options: dict[str, Any]) -> None:
        environment, network = options["env"], options["network"]
        asset = registry.asset(environment, network, options["asset"].upper())
        person = operator_of_command(options["by"], permission="house.add_withdrawal", environment=environment)
        proposal = propose_withdrawal(
            _listed(environment, network, options["to"], options["memo"]),
            code=asset.code,
            amount=to_units(options["amount"], asset.decimals),
            reason=options["reason"],
            by=person,
        )
        self.stdout.write(str(proposal))
        if proposal.status == ProposalStatus.DONE:
            self.stdout.write(self.style.SUCCESS("Agreed to: the coins are reserved, and leave."))
        else:
            self.stdout.write("Another operator must agree: Admin → Proposals.")


def _listed(environment: str, network: str, address: str, memo: str) -> AllowedAddress:
    here = AllowedAddress.objects.filter(environment=environment, network=network, memo=memo, removed_at__isnull=True)
    found = here.filter(address__iexact=address).first()
    if found is None:
        raise CommandError(f"{' '.join(filter(None, [address, memo]))} is not in the allow list of {network}.")
    return found


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ArgumentTypeError(f"{text!r} is no amount") from None
