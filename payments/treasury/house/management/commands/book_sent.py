"""`manage.py book_sent`: proposes what a transfer was that somebody sent from a hot wallet by hand."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.environments import Environment
from config.errors import DomainError
from merchants.four_eyes.models import ProposalStatus
from merchants.four_eyes.people import operator_of_command
from payments.chains.errors import ChainError
from payments.treasury.house.manual_transfers import find_sent, propose_booking


class Command(BaseCommand):
    help = (
        "Proposes whose a payout was that left a hot wallet by hand or before a restore. The house took it, or bears "
        "the loss, or paid for somebody. As many operators must agree as the environment asks for."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--env", choices=Environment.values, required=True)
        parser.add_argument("--network", required=True)
        parser.add_argument("--hash", required=True, help="Of the transaction.")
        parser.add_argument("--lost", action="store_true", help="The house did not take it: it is a loss.")
        parser.add_argument("--payout", default="", help="Only this one of what was found after a restore: found_…")
        parser.add_argument(
            "--owner",
            default="",
            help="For whom the house paid it, by public id, where a restored database lacks the settlement or refund: "
            "mer_…, pay_…, or dis_… of the money in suspense that was given back.",
        )
        parser.add_argument("--reason", required=True, help="What it was: kept with the booking.")
        parser.add_argument("--by", metavar="EMAIL", required=True, help="The operator who proposes it.")

    def handle(self, **options: Any) -> None:
        try:
            person = operator_of_command(options["by"], permission="house.add_withdrawal", environment=options["env"])
            sent = find_sent(options["env"], options["network"], options["hash"], payout=options["payout"])
            proposal = propose_booking(
                sent, is_lost=options["lost"], reason=options["reason"], by=person, owner=options["owner"]
            )
        except ChainError as error:
            raise CommandError(f"The network did not answer: {error}") from error
        except DomainError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(str(proposal))
        if proposal.status == ProposalStatus.DONE:
            self.stdout.write(self.style.SUCCESS("Booked. Thaw the wallet, run reconcile, then lift the stop."))
        else:
            self.stdout.write("Another operator must agree: Admin → Proposals.")
