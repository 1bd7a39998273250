"""`manage.py sweep_native`: ETH or POL that somebody sent to a deposit address, listed and brought in."""

from __future__ import annotations

import getpass
from collections.abc import Sequence
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser

from config import ids
from config.environments import Environment
from config.errors import DomainError
from config.money import Asset, from_units
from payments.chains import registry
from payments.chains.errors import ChainError
from payments.models import Payment
from payments.treasury import native_deposits
from payments.treasury.models import NativeCoin


class Command(BaseCommand):
    help = (
        "Lists native coins at deposit addresses, and what bringing them in would cost. With --payment or --all they "
        "are brought to the hot wallet, where they become the treasury's and pay fees: the worker that holds the key "
        "does it within seconds. No payment is ever credited with them."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--env", "--environment", choices=Environment.values, required=True)
        parser.add_argument("--network", required=True)
        chosen = parser.add_mutually_exclusive_group()
        chosen.add_argument("--payment", metavar="PAY", help="Look at its address now, and bring that in.")
        chosen.add_argument("--all", action="store_true", help="Bring in all that is worth more than it costs.")
        parser.add_argument("--at-a-loss", action="store_true", help="Even if that costs more than it brings.")
        parser.add_argument("--by", metavar="NAME", help="Who says so. Default: the account this runs under.")
        parser.add_argument("--yes", action="store_true", help="Do not ask.")

    def handle(self, **options: Any) -> None:
        environment, network = options["env"], options["network"]
        try:
            chain = registry.chain(environment, network)
            if chain.profile.shares_account:
                raise CommandError(f"Deposits on {network} arrive at the hot wallet itself.")
            if options["payment"]:
                self._look_at(environment, network, options["payment"])
            coins = _chosen(environment, network, options["payment"])
            if options["all"] and not options["at_a_loss"]:
                coins = native_deposits.worth_bringing_in(chain, coins)
            cost = self._list(coins, chain.profile.native, native_deposits.cost_of(chain, coins))
            if not coins or not (options["payment"] or options["all"]):
                return
            if cost > sum(coin.held for coin in coins) and not options["at_a_loss"]:
                raise CommandError("It costs more than it brings. To do it all the same: --at-a-loss.")
            question = "Bring it to the hot wallet? It then belongs to the treasury, and pays fees. [y/N] "
            if not options["yes"] and input(question).strip().lower() not in ("y", "yes"):
                raise CommandError("Nothing was asked for.")
            native_deposits.ask_for(coins, asked_by=options["by"] or getpass.getuser())
        except (DomainError, ChainError, ImproperlyConfigured) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(self.style.SUCCESS("Asked for. Admin → Sweeps shows it on its way, and when it is booked."))

    def _look_at(self, environment: str, network: str, public_id: str) -> None:
        key = ids.PAYMENT.decode(public_id)
        payment = Payment.objects.filter(pk=key, environment=environment).first() if key else None
        if payment is None:
            raise CommandError(f"There is no {public_id} in {environment}.")
        native_deposits.look_at(environment, network, [payment])

    def _list(self, coins: Sequence[NativeCoin], asset: Asset, cost: int) -> int:
        for coin in coins:
            request = f", asked for by {coin.asked_by}" if coin.asked_at else ""
            address = coin.payment.address_on(coin.network)
            self.stdout.write(f"{coin.payment.public_id}  {_shown(coin.held, asset)} at {address}{request}")
        total = sum(coin.held for coin in coins)
        self.stdout.write(f"{_shown(total, asset)} in all; bringing it in costs about {_shown(cost, asset)}.")
        return cost


def _chosen(environment: str, network: str, public_id: str | None) -> list[NativeCoin]:
    coins = native_deposits.waiting(environment, network).select_related("payment")
    return list(coins.filter(payment=ids.PAYMENT.decode(public_id)) if public_id else coins)


def _shown(units: int, asset: Asset) -> str:
    return f"{from_units(units, asset.decimals):,f} {asset.code}"
