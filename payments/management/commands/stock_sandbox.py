"""`manage.py stock_sandbox`: coins for the treasury of simulated and local networks, to convert settlements with."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.environments import Environment
from merchants.ledger.checking import CouldNotCheck
from merchants.ledger.models import Posting
from payments.chains import registry
from payments.chains.errors import ChainError
from payments.chains.network_table import DEVNET
from payments.chains.protocol.chain import Chain
from payments.chains.simulated import control
from payments.chains.simulated.adapter import SimulatedChain
from payments.deposits.watching import watch_network
from payments.treasury.wallet_balances import TREASURY_IN, book_treasury, treasury_balance

SANDBOX = Environment.SANDBOX
NETWORK = "entries__account__network"


class Command(BaseCommand):
    help = (
        "Puts new coins of every kind into the hot wallets of the simulated networks, as the treasury's. A merchant "
        "who is paid in one coin can then be settled in another. On the networks of `manage.py devnet` it books what "
        "their hot wallets have from the start. Done once for each network."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--amount", type=int, default=100_000, help="Whole coins of each kind; default 100,000.")

    def handle(self, *, amount: int, **options: Any) -> None:
        if amount < 1:
            raise CommandError("--amount must be at least 1.")
        stocked = set(Posting.objects.filter(environment=SANDBOX, kind=TREASURY_IN).values_list(NETWORK, flat=True))
        for network in registry.networks(SANDBOX):
            chain = registry.chain(SANDBOX, network)
            if network in stocked:
                self.stdout.write(f"The treasury on {network} has been stocked before.")
            elif isinstance(chain, SimulatedChain):
                for code, asset in chain.profile.assets.items():
                    control.fund(network, address=chain.payout_address(), code=code, amount=amount * 10**asset.decimals)
                control.mine(network, control.deepest_reorg(network) + 1)
                self._book(chain, network)
            elif settings.SANDBOX_CHAIN == DEVNET:
                try:
                    self._book(chain, network)
                except (ChainError, CouldNotCheck) as error:
                    self.stderr.write(
                        f"{network} has no coins to convert settlements with. Does `manage.py devnet` run? {error}"
                    )

    def _book(self, chain: Chain, network: str) -> None:
        """Book what the hot wallet has as the treasury's. On a shared wallet only what no scan reads as a deposit is
        that: what the simulation makes, and what was there before the network was read."""
        while watch_network(SANDBOX, network):
            pass
        for code in chain.profile.assets:
            found, times = treasury_balance(SANDBOX, network, code)
            if found.unexplained > 0:
                book_treasury(found, times=times, amount=found.unexplained)
            self.stdout.write(f"{found.unexplained // 10**found.asset.decimals:,} {code} on {network}")
