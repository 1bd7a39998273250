"""`manage.py deploy_deposits`: puts the factory of deposit addresses on a network, once, and checks that it is ours."""

from __future__ import annotations

import time
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser

from payments.chains.errors import ChainError, InvalidAddress
from payments.chains.evm import addresses, factory
from payments.chains.evm.deposit_addresses import deployment
from payments.chains.evm.deposit_addresses.deployment import DEPLOYER, Deployment
from payments.chains.evm.nodes import questions
from payments.chains.evm.nodes.providers import Providers
from payments.chains.evm.nodes.rpc import RpcError
from payments.chains.networks import NETWORKS
from payments.chains.profiles import NetworkProfile
from payments.chains.settings_lookup import settings_of
from payments.chains.settings_parser import MAINNET, TESTNET, NetworkSettings

POLL_SECONDS = 1.0


class Command(BaseCommand):
    help = (
        "Deploys and checks the factory of deposit addresses, and shows what its owner must call. It is sent and paid "
        "for by the hot wallet, for EVM_OWNER. Where it stands already, it is only checked."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--network", choices=factory.networks(), required=True)
        parser.add_argument("--testnet", action="store_true", help="On its test network, by the TESTNET_ settings.")
        parser.add_argument("--show", action="store_true", help="Only show what anyone may send; needs no key.")
        parser.add_argument("--first-owner", help="The owner that EVM_FACTORY was first deployed with, if another.")
        parser.add_argument("--wait", type=float, default=300, help="Seconds to wait for a block; default 300.")

    def handle(
        self, *, network: str, testnet: bool, show: bool, wait: float, first_owner: str | None = None, **options: Any
    ) -> None:
        profile, kind = (NETWORKS[network].test, TESTNET) if testnet else (NETWORKS[network].real, MAINNET)
        if profile is None:
            raise CommandError(f"There is no test network of {network}.")
        try:
            found = settings_of(network, kind)
            wallet = factory.address(found, "hot_wallet")
            wanted = _wanted(found, first_owner)
            if show:
                self.stdout.write(f"factory  {wanted.factory}\nto       {DEPLOYER}\ndata     0x{wanted.data.hex()}")
                return
            providers = factory.providers(profile, kind)
            if deployment.is_deployed(providers, wanted.factory):
                self.stdout.write(f"The factory stands on {network} already.")
            else:
                self._deploy(wanted, providers, profile, found, wait)
            deployment.check(providers, wanted.factory)
            people = deployment.people(providers, wanted.factory)
        except (ImproperlyConfigured, ChainError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Its code and its addresses are ours. The address of salt 0 on {network} is")
        self.stdout.write(f"  {deployment.deposit_address(wanted.factory, 0)}")
        self.stdout.write(f"{kind}EVM_FACTORY={wanted.factory}")
        if (people.operator, people.treasury) != (wallet, wallet):
            self.stdout.write(f"Nothing is swept yet. On {network} {people.owner}, its owner, must call:")
            self.stdout.write(f"to       {wanted.factory}\ndata     0x{deployment.appointment(wallet, wallet).hex()}")

    def _deploy(
        self, wanted: Deployment, providers: Providers, profile: NetworkProfile, found: NetworkSettings, wait: float
    ) -> None:
        if not deployment.has_deployer(providers):
            raise CommandError(f"{profile.name} has no deterministic deployer at {DEPLOYER}.")
        rules, signer = factory.fee_rules(found), factory.signer(found, profile.network)
        signed = deployment.sign_deployment(
            wanted, providers, chain_id=profile.evm_chain_id, rules=rules, signer=signer
        )
        answers = providers.submit(questions.broadcast(signed.raw))
        refusals = [each for each in answers if isinstance(each, RpcError) and not each.knows_already]
        if len(refusals) == len(answers):
            raise CommandError(f"No provider took the deployment: {refusals[0]}")
        self.stdout.write(f"Sent {signed.transaction_hash}; waiting for a block.")
        deadline = time.monotonic() + wait
        while not deployment.is_deployed(providers, wanted.factory):
            if time.monotonic() > deadline:
                raise CommandError("It is in no block yet. Run this again later: it then checks, or sends once more.")
            time.sleep(POLL_SECONDS)


def _wanted(found: NetworkSettings, first_owner: str | None) -> Deployment:
    """The deployment that stands at EVM_FACTORY, where that is set; else a new one."""
    owner = factory.address(found, "owner")
    try:
        newest = deployment.with_owner(addresses.parse(first_owner) if first_owner else owner)
    except InvalidAddress as error:
        raise CommandError(f"--first-owner: {error}") from error
    if not found.factory or newest.factory == (there := factory.address(found, "factory")):
        return newest
    raise CommandError(
        f"{found.kind}EVM_FACTORY is {there}, which began with other people, and would begin with them here as well. "
        "Name its first owner (--first-owner), if that key is safe. Else unset it here to deploy another factory, and "
        "see docs/replacing-keys.md for how to go over to that."
    )
