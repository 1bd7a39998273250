"""`manage.py refill`: prints the transfer for the keepers of the cold wallet to send to the hot wallet. It is booked by
itself."""

from __future__ import annotations

from argparse import ArgumentTypeError
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.environments import Environment
from config.errors import DomainError
from config.money import AmountNotExact, to_units
from payments.chains import registry
from payments.treasury.cold import cold_wallet_of
from payments.treasury.house.cold.refills import transfer_of
from payments.treasury.house.cold.wallet_target import WalletTarget, floats


class Command(BaseCommand):
    help = (
        "Shows what each hot wallet lacks, and the transfer that the keepers of the cold wallet should send. It lacks "
        "what payouts wait for and HOT_WALLET_FLOAT. It sends nothing: Ballast has no key of the cold wallet. The "
        "transfer is booked within a minute of being final, and payouts that waited for it leave."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--env", choices=Environment.values, required=True)
        parser.add_argument("--network")
        parser.add_argument("--asset", help="A coin.")
        parser.add_argument("--amount", type=_decimal, help="In whole coins; default: what the hot wallet lacks.")

    def handle(self, **options: Any) -> None:
        if options["amount"] is not None and not (options["network"] and options["asset"]):
            raise CommandError("Say --network and --asset as well.")
        code = (options["asset"] or "").upper()
        try:
            if options["network"]:
                registry.profile(options["env"], options["network"])
            found = [each for each in floats(options["env"], options["network"]) if code in ("", each.asset.code)]
            for each in found:
                units = each.to_refill
                if options["amount"] is not None:
                    units = to_units(options["amount"], each.asset.decimals)
                if units:
                    self._show(each, units)
        except (DomainError, AmountNotExact) as error:
            raise CommandError(str(error)) from error
        if not found:
            raise CommandError("There is no such coin on a network with a cold wallet: see EVM_COLD_WALLET.")

    def _show(self, each: WalletTarget, units: int) -> None:
        cold_wallet_of(each.environment, each.asset.network)  # from here on, what leaves it is followed
        self.stdout.write(f"{each.asset.network}: send {each.shown(units)}")
        for name, value in transfer_of(each, units).items():
            self.stdout.write(f"  {name:9} {value}")
        if units > each.cold:
            self.stdout.write(self.style.WARNING(f"  The cold wallet has {each.shown(each.cold)} by the ledger."))


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ArgumentTypeError(f"{text!r} is no amount") from None
