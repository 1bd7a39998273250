"""`manage.py check_networks`: compares wallets, contracts, coins and providers with the settings."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.environments import Environment
from payments.chains import registry
from payments.chains.errors import ChainError
from payments.chains.stellar.adapter import StellarChain
from payments.doctor import look_at


class Command(BaseCommand):
    help = (
        "Compares what is on each real network in use with the settings. On evm networks: the factory, its treasury "
        "and operator, the decimals of every coin and what deposit addresses come from; on stellar the hot wallet and "
        "its trustlines. Names providers that have a problem. Exits with an error unless all is well."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--env", choices=Environment.values, default=Environment.PRODUCTION.value)
        parser.add_argument(
            "--signing", action="store_true", help="Also whether the key opens, and is the hot wallet's."
        )

    def handle(self, *, env: str, signing: bool = False, **options: Any) -> None:
        problems = []
        for network in registry.networks(env):
            if registry.is_simulated(env):
                continue
            look = look_at(env, network, signing=signing)
            problems += [f"{network}: {each}" for each in (*look.faults, *look.problems)]
            if look.head is None:
                continue
            self.stdout.write(f"{network}: head {look.head.height}, final {look.head.finalized_height}")
            if isinstance(chain := registry.chain(env, network), StellarChain):
                try:
                    powers_by_code = chain.issuer_powers()
                except ChainError as error:
                    problems.append(f"{network}: {error}")
                    continue
                for code, powers in powers_by_code.items():
                    self.stdout.write(f"  {code}: the issuer can {' and '.join(powers) or 'freeze nobody'}")
        if problems:
            raise CommandError("\n".join(problems))
