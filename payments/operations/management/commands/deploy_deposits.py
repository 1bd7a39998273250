"""`manage.py deploy_deposits`: puts the factory of deposit addresses on a network, once, and checks that it is ours."""

from __future__ import annotations

import time
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser

from payments.chains.errors import ChainError
from payments.chains.evm import configuration, deployment, questions
from payments.chains.evm.configuration import MAINNET, TESTNET, Settings
from payments.chains.evm.deployment import DEPLOYER, Deployment
from payments.chains.evm.providers import Providers
from payments.chains.evm.rpc import RpcError
from payments.chains.networks import REAL_PROFILES, TEST_PROFILES
from payments.chains.profiles import NetworkProfile

EVM_NETWORKS = tuple(name for name, profile in REAL_PROFILES.items() if profile.family == "evm")
POLL_SECONDS = 1.0


class Command(BaseCommand):
    help = (
        "Deploys the factory of deposit addresses with EVM_OWNER and EVM_HOT_WALLET, sent and paid for by the hot "
        "wallet, and compares its code and its addresses with ours. Where it stands already, it is only checked."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--network", choices=EVM_NETWORKS, required=True)
        parser.add_argument("--testnet", action="store_true", help="On Sepolia or Amoy, by the TESTNET_ settings.")
        parser.add_argument("--show", action="store_true", help="Only show what anyone may send; needs no key.")
        parser.add_argument("--wait", type=float, default=300, help="Seconds to wait for a block; default 300.")

    def handle(self, *, network: str, testnet: bool, show: bool, wait: float, **options: Any) -> None:
        profile, kind = (TEST_PROFILES[network], TESTNET) if testnet else (REAL_PROFILES[network], MAINNET)
        try:
            wallet = configuration.address("EVM_HOT_WALLET", kind)
            wanted = Deployment(owner=configuration.address("EVM_OWNER", kind), operator=wallet, treasury=wallet)
            if show:
                self.stdout.write(f"factory  {wanted.factory}\nto       {DEPLOYER}\ndata     0x{wanted.data.hex()}")
                return
            providers = configuration.providers(profile, kind)
            if deployment.is_deployed(providers, wanted.factory):
                self.stdout.write(f"The factory stands on {network} already.")
            else:
                self._deploy(wanted, providers, profile, kind, wait)
            deployment.check(providers, wanted.factory)
        except (ImproperlyConfigured, ChainError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Its code and its addresses are ours. Deposit address 0 on {network} is")
        self.stdout.write(f"  {deployment.deposit_address(wanted.factory, 0)}")
        self.stdout.write(f"{kind}EVM_FACTORY={wanted.factory}")

    def _deploy(
        self, wanted: Deployment, providers: Providers, profile: NetworkProfile, kind: Settings, wait: float
    ) -> None:
        if not deployment.has_deployer(providers):
            raise CommandError(f"{profile.name} has no deterministic deployer at {DEPLOYER}.")
        if profile.chain_id is None:
            raise CommandError(f"{profile.name} has no chain id.")
        signed = deployment.sign_deployment(
            wanted,
            providers,
            chain_id=profile.chain_id,
            rules=configuration.fee_rules(profile.network),
            signer=configuration.signer(kind),
        )
        said = providers.tell(questions.broadcast(signed.raw))
        refusals = [each for each in said if isinstance(each, RpcError) and not each.knows_already]
        if len(refusals) == len(said):
            raise CommandError(f"No provider took the deployment: {refusals[0]}")
        self.stdout.write(f"Sent {signed.transaction_hash}; waiting for a block.")
        deadline = time.monotonic() + wait
        while not deployment.is_deployed(providers, wanted.factory):
            if time.monotonic() > deadline:
                raise CommandError("It is in no block yet. Run this again later: it then checks, or sends once more.")
            time.sleep(POLL_SECONDS)
