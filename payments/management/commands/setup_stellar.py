"""`manage.py setup_stellar`: trustlines, the wish for memos and channel accounts of the hot wallet."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.environments import Environment
from config.money import from_units
from payments.chains import registry
from payments.chains.errors import ChainError
from payments.chains.networks import NETWORKS
from payments.chains.protocol.payouts import SignedTransfer
from payments.chains.stellar.adapter import StellarChain
from payments.chains.stellar.factory import stellar_chain
from payments.transfers.models import Transfer
from payments.transfers.states import OPEN_TRANSFERS
from payments.transfers.wallets import hold, wallet_of


class Command(BaseCommand):
    help = (
        "Adds the trustlines, data entry and channel accounts that the hot wallet on stellar lacks. A trustline for "
        "each accepted coin, the data entry by which it asks for memos (SEP-29), and the accounts of "
        "STELLAR_CHANNELS. Says first what that costs, and asks. All of it is one on-chain transaction, so that it "
        "may be run again. Signed by STELLAR_HOT_WALLET_KEY, or the signer at SIGNER_URL."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--network", default="stellar")
        parser.add_argument(
            "--env", "--environment", dest="env", choices=Environment.values, default=Environment.PRODUCTION.value
        )
        parser.add_argument("--dry-run", action="store_true", help="Only say what would be done, and what it costs.")
        parser.add_argument("--yes", action="store_true", help="Do not ask.")

    def handle(self, *, network: str, env: str, dry_run: bool, yes: bool, **options: Any) -> None:
        try:
            chain = _chain(env, network)
            chain.horizons.require_enough()
            self.stdout.write(f"hot wallet  {chain.payout_address()} on {chain.profile.name}")
            if self._propose(chain) and not dry_run:
                self._carry_out(chain, env, network, yes)
            for line in chain.preparation().standing():
                self.stdout.write(f"  {line}")
        except (registry.UnsupportedNetwork, ImproperlyConfigured, ChainError) as error:
            raise CommandError(str(error)) from error

    def _propose(self, chain: StellarChain) -> bool:
        """Print what is missing and its cost; returns whether anything is."""
        plan = chain.preparation().plan()
        for step in plan.steps:
            self.stdout.write(f"  {_xlm(step.reserve):>15}  {step.text}")
        if not plan.steps:
            self.stdout.write("Nothing is missing.")
            return False
        self.stdout.write(f"  {_xlm(plan.fee):>15}  network fee, about")
        self.stdout.write(f"{_xlm(plan.reserves)} are locked up or handed to channel accounts; the fee is gone.")
        if plan.lacking:
            what = "has too little" if plan.exists else "does not exist yet"
            raise CommandError(f"The hot wallet {what}: send it at least {_xlm(plan.lacking)}, then run this again.")
        return True

    def _carry_out(self, chain: StellarChain, env: str, network: str, yes: bool) -> None:
        if not yes and input("Do it? [y/N] ").strip().lower() not in ("y", "yes"):
            raise CommandError("Nothing was done.")
        wallet = wallet_of(env, network, chain)
        with hold(wallet) as held:
            # What is sent here uses a sequence of the wallet, which no payout may take meanwhile.
            if not held or Transfer.objects.filter(wallet=wallet, status__in=OPEN_TRANSFERS).exists():
                raise CommandError("Payouts of this wallet are on their way: run this again in a minute.")
            preparation = chain.preparation()
            plan = preparation.plan()
            if plan.steps:
                self._send(chain, preparation.sign(plan))

    def _send(self, chain: StellarChain, transfer: SignedTransfer) -> None:
        self.stdout.write(f"Sending {transfer.transaction_hash} …")
        self.stdout.flush()
        status = chain.preparation().follow(transfer)
        if status.state != "included":
            why = status.error or "It got into no ledger in time, or another transaction took its sequence."
            raise CommandError(f"Nothing was changed: {status.state}. {why} Run this again.")
        self.stdout.write(self.style.SUCCESS(f"Done in ledger {status.height}, for {_xlm(status.fee_units)}."))


def _chain(env: str, network: str) -> StellarChain:
    """The adapter. A network that production does not take payments on yet can be prepared for it."""
    if env == Environment.PRODUCTION and network in NETWORKS and NETWORKS[network].real.family == "stellar":
        return stellar_chain(registry.known_profile(env, network))
    chain = registry.chain(env, network)
    if not isinstance(chain, StellarChain):
        raise CommandError(f"{network} needs no set-up of this kind in {env}.")
    return chain


def _xlm(stroops: int) -> str:
    return f"{from_units(stroops, 7):f} XLM"
