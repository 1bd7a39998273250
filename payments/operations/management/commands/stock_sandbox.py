"""`manage.py stock_sandbox`: coins for the sandbox treasury on the simulated networks, to convert settlements with."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.environments import Environment
from merchants.ledger.models import Posting
from payments.chains import registry
from payments.chains.simulated import control
from payments.chains.simulated.adapter import SimulatedChain
from payments.deposits.watching import watch_network
from payments.treasury.wallet_balances import TREASURY_IN, book_treasury, treasury_balance

SANDBOX = Environment.SANDBOX


class Command(BaseCommand):
    help = (
        "Puts new coins of every kind into the hot wallets of the simulated networks, and books them as the "
        "treasury's: a merchant who is paid in one coin can then be settled in another. Only done once."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--amount", type=int, default=100_000, help="Whole coins of each kind; default 100,000.")

    def handle(self, *, amount: int, **options: Any) -> None:
        if amount < 1:
            raise CommandError("--amount must be at least 1.")
        if Posting.objects.filter(environment=SANDBOX, kind=TREASURY_IN).exists():
            self.stdout.write("The sandbox's treasury has been stocked before.")
            return
        for network in registry.networks(SANDBOX):
            chain = registry.chain(SANDBOX, network)
            if not isinstance(chain, SimulatedChain):
                continue
            for code, asset in chain.profile.assets.items():
                control.fund(network, address=chain.payout_address(), code=code, amount=amount * 10**asset.decimals)
            control.mine(network, control.deepest_reorg(network) + 1)
            while watch_network(SANDBOX, network):  # so that on a shared wallet these coins are not taken for deposits
                pass
            for code in chain.profile.assets:
                found, times = treasury_balance(SANDBOX, network, code)
                book_treasury(found, times=times, amount=found.unexplained)
            self.stdout.write(f"{amount:,} {', '.join(chain.profile.assets)} on {network}")
