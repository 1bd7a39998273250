"""`manage.py book_treasury`: books coins that the operator has put into a hot wallet."""

from __future__ import annotations

import getpass
from argparse import ArgumentTypeError
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config import ids
from config.environments import Environment
from config.errors import DomainError
from config.money import AmountNotExact, from_units, to_units
from merchants.ledger.checking import CouldNotCheck
from payments.chains import registry
from payments.models import Discrepancy
from payments.suspense.acceptance import take_discrepancy
from payments.treasury.wallet_balances import WalletBalance, book_treasury, treasury_balance


class Command(BaseCommand):
    help = (
        "Books the coins that you have sent to a hot wallet yourself: what it holds beyond the ledger and what is "
        "known to be on its way. They become the treasury's. Where deposits arrive at the same wallet your coins may "
        "have been taken for a deposit without a memo: name it with --discrepancy."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--env", choices=Environment.values, required=True)
        parser.add_argument("--network", required=True)
        parser.add_argument("--asset", required=True, help="A coin, or the network's own: ETH, POL, XLM.")
        parser.add_argument("--amount", type=_decimal, help="In whole coins; default: all of it.")
        parser.add_argument("--discrepancy", metavar="DIS", help="Instead: this money without a memo is your own.")
        parser.add_argument("--cold", action="store_true", help="What the cold wallet holds beyond the ledger instead.")
        parser.add_argument("--by", metavar="NAME", help="Who says so. Default: the account this runs under.")
        parser.add_argument("--yes", action="store_true", help="Do not ask.")

    def handle(self, **options: Any) -> None:
        environment, network, code = options["env"], options["network"], options["asset"].upper()
        if network not in registry.networks(environment):
            raise CommandError(f"{network} is not in use in {environment}.")
        try:
            if options["discrepancy"]:
                self._take(_discrepancy(environment, network, code, options["discrepancy"]), options)
            else:
                self._book(environment, network, code, options)
        except (DomainError, CouldNotCheck, AmountNotExact) as error:
            raise CommandError(str(error)) from error

    def _book(self, environment: str, network: str, code: str, options: dict[str, Any]) -> None:
        found, times = treasury_balance(environment, network, code, is_cold=options.get("cold", False))
        amount = found.unexplained
        if options["amount"] is not None:
            amount = to_units(options["amount"], found.asset.decimals)
        self._explain(found)
        if found.unexplained < 0:
            raise CommandError("Coins are missing. Run reconcile, and find them before anything is booked.")
        if amount <= 0:
            raise CommandError("There is nothing to book.")
        self._confirm(f"{_coins(amount, found.asset.decimals, code)} become the treasury's.", options)
        posting = book_treasury(found, times=times, amount=amount)
        self.stdout.write(self.style.SUCCESS(f"Booked: {posting.kind} {posting.reference}"))

    def _take(self, stray: Discrepancy, options: dict[str, Any]) -> None:
        coins = _coins(int(stray.amount), stray.decimals, stray.asset)
        self._confirm(f"{coins} that arrived without a memo ({stray.deposit}) become the treasury's.", options)
        take_discrepancy(stray, resolved_by=options["by"] or getpass.getuser())
        self.stdout.write(self.style.SUCCESS(f"Booked: {stray.public_id}"))

    def _confirm(self, question: str, options: dict[str, Any]) -> None:
        self.stdout.write(question)
        if not options["yes"] and input("Book it? [y/N] ").strip().lower() not in ("y", "yes"):
            raise CommandError("Nothing was booked.")

    def _explain(self, found: WalletBalance) -> None:
        self.stdout.write(f"{found}:")
        rows = [("on the chain", found.on_chain), ("in the ledger", found.booked)]
        rows += [(known.text, known.amount) for known in found.differences]
        for text, amount in [*rows, ("unexplained", found.unexplained)]:
            self.stdout.write(f"    {_coins(amount, found.asset.decimals, found.asset.code):>40}  {text}")


def _discrepancy(environment: str, network: str, code: str, text: str) -> Discrepancy:
    key = ids.DISCREPANCY.decode(text)
    here = Discrepancy.objects.filter(environment=environment, network=network, asset=code)
    found = None if key is None else here.filter(pk=key).first()
    if found is None:
        raise CommandError(f"There is no {text} in {code} on {network} ({environment}).")
    return found


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ArgumentTypeError(f"{text!r} is no amount") from None


def _coins(units: int, decimals: int, code: str) -> str:
    return f"{from_units(units, decimals):,f} {code}"
