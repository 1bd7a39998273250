"""`manage.py thaw_wallet`: shows what a frozen wallet has sent, adopts what has paid payouts, and thaws it."""

from __future__ import annotations

import getpass
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import ProgrammingError

from config.environments import Environment
from config.errors import DomainError
from config.money import from_units
from merchants.four_eyes.models import ProposalStatus
from merchants.four_eyes.people import operator_of_command, people_needed
from payments.chains import registry
from payments.chains.errors import ChainError
from payments.transfers import services
from payments.transfers.audit.adopt_unknown import StartUnknown, Unknown, adopt, propose_thaw, unknown_transfers
from payments.transfers.execution.nonces import is_known, known_sequence
from payments.transfers.models import Wallet
from payments.transfers.owners import found_payouts
from payments.transfers.wallets import expected_sequences, freeze_of, hold, wallet_of


class Command(BaseCommand):
    help = (
        "Compares what a wallet has sent with the ledger, adopts what is missing there, and lets it sign again. "
        "Run it after a restore, before anything is paid."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--env", choices=Environment.values, required=True)
        parser.add_argument("--network", required=True)
        parser.add_argument(
            "--since-block", type=int, help="Look at what it has sent from here on; default: its last known transfer."
        )
        parser.add_argument("--address", help="A hot wallet of before; default: the one that pays now.")
        parser.add_argument("--dry-run", action="store_true", help="Only show what would be done.")
        parser.add_argument(
            "--leave-unknown",
            action="store_true",
            help="Thaw it although somebody else's transactions have taken coins from it. Find out first who may do "
            "that. Whose it was that its own transactions have paid, manage.py book_sent says.",
        )
        parser.add_argument("--by", metavar="EMAIL", default="", help="The operator who proposes it, where two must.")

    def handle(self, **options: Any) -> None:
        environment, network = options["env"], options["network"]
        if network not in registry.networks(environment):
            raise CommandError(f"{network} is not in use in {environment}.")
        try:
            chain = registry.chain(environment, network)
            wallet = wallet_of(environment, network, chain)
            if options["address"]:
                wallet = self._named(wallet, options["address"])
            with hold(wallet) as held:
                if not held:
                    raise CommandError("A worker is busy with this wallet. Try again in a moment.")
                unknown = unknown_transfers(wallet, since_block=options["since_block"])
                expected = expected_sequences(wallet, chain)
                if self._is_explained(wallet, unknown, expected, options["dry_run"], options["leave_unknown"]):
                    for channel, sequence in expected.items():
                        is_known(wallet, chain, channel, sequence)  # or it is frozen, as by the next round
                    self._thaw(wallet, unknown, expected, options["since_block"], options["by"])
        except ChainError as error:
            raise CommandError(f"The network did not answer: {error}") from error
        except StartUnknown as error:
            raise CommandError(f"{error.message} (--since-block)") from error
        except DomainError as error:
            raise CommandError(error.message) from error

    def _named(self, current: Wallet, address: str) -> Wallet:
        here = Wallet.objects.filter(environment=current.environment, network=current.network)
        found = here.filter(address__iexact=address).first()
        if found is None:
            raise CommandError(
                f"There is no hot wallet {address}; there are {', '.join(each.address for each in here)}."
            )
        return found

    def _is_explained(
        self, wallet: Wallet, unknown: list[Unknown], expected: dict[str, int], is_dry: bool, leaves_unknown: bool
    ) -> bool:
        """Show what was sent and adopt what has paid payouts; whether the wallet may be thawed then."""
        frozen = freeze_of(wallet)
        self.stdout.write(f"{wallet}: {frozen.reason if frozen else 'not frozen'}")
        for channel, sequence in expected.items():
            whose, known = f" of channel {channel}" if channel else "", known_sequence(wallet, channel)
            self.stdout.write(f"The network expects sequence {sequence}{whose}, the ledger {known}.")
        for each in unknown:
            self.stdout.write(_line(each))
        for payout in found_payouts(wallet.environment, wallet.network).select_related("transfer"):
            sent_by = payout.transfer.transaction_hash if payout.transfer else ""
            self.stdout.write(f"  nobody has said whose this was: {payout}, to {payout.recipient}, {sent_by}")
        strangers = [each for each in unknown if not each.is_known]
        others = [each for each in strangers if each.sent.sequence is None]
        if is_dry:
            self.stdout.write("Nothing was changed.")
            return False
        if unripe := [each for each in unknown if not each.is_final]:
            raise CommandError(
                f"{len(unripe)} of these transfers are not final yet: whom they pay must not be paid again. The wallet "
                "stays frozen; run this again once they are final."
            )
        adopted = adopt(wallet, unknown)
        self.stdout.write(f"{adopted} payouts were paid already, and are not sent again.")
        if len(strangers) > len(others):
            raise CommandError(
                f"{len(strangers) - len(others)} transfers paid nobody that the ledger knows. The wallet stays frozen "
                "until two people have said whose they were: manage.py book_sent. Then run this again."
            )
        if others and not leaves_unknown:
            raise CommandError(
                f"{len(others)} transfers were sent by somebody else's transactions. The wallet stays frozen; once you "
                "know who was allowed to, run this again with --leave-unknown."
            )
        return True

    def _thaw(
        self, wallet: Wallet, unknown: list[Unknown], expected: dict[str, int], since_block: int | None, by: str
    ) -> None:
        if (frozen := freeze_of(wallet)) is None:
            self.stdout.write("It is not frozen, and signs.")
            return
        if people_needed(wallet.environment) == 1:
            try:
                services.thaw_wallet(wallet, expected, thawed_by=by or getpass.getuser())
            except ProgrammingError as error:
                raise CommandError("A worker's role lifts no stop: run it again as ballast_web.") from error
        else:
            if not by:
                raise CommandError(
                    "Two operators must thaw it: one proposes it in the admin under Stops or by this with --by, as "
                    "ballast_web, and another agrees under Proposals."
                )
            permission = "transfers.change_wallet"
            person = operator_of_command(by, permission=permission, environment=wallet.environment)
            proposal = propose_thaw(frozen, unknown, since_block=since_block, by=person)
            if proposal.status != ProposalStatus.DONE:
                self.stdout.write(f"{proposal}: {proposal.get_status_display()}.")
                return
        self.stdout.write(self.style.SUCCESS("The wallet signs again."))


def _line(each: Unknown) -> str:
    sent = each.sent
    amount = f"{from_units(sent.amount, each.asset.decimals):f} {each.asset.code}" if each.asset else f"{sent.amount}"
    outcome = "went to another hot wallet of ours" if each.is_ours else "is unknown"
    if each.payout:
        outcome = f"has paid {each.payout.reference}"
    return f"  {sent.transaction_hash}  {amount} to {sent.recipient} {sent.memo or ''}  {outcome}"
