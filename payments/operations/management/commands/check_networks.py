"""`manage.py check_networks`: are the contracts, the coins and the providers what the settings say?"""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.environments import Environment
from payments.chains import registry
from payments.chains.errors import ChainError
from payments.chains.evm.adapter import EvmChain


class Command(BaseCommand):
    help = (
        "Compares the factory, its treasury and operator, and the decimals of every coin with the settings, on each "
        "evm network in use, and names providers that have a problem. Exits with an error unless all is well."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--env", choices=Environment.values, default=Environment.PRODUCTION.value)

    def handle(self, *, env: str, **options: Any) -> None:
        problems = []
        for network in registry.networks(env):
            try:
                chain = registry.chain(env, network)
                if not isinstance(chain, EvmChain):
                    continue
                chain.require_set_up()
                head = chain.head()
                problems += [f"{network}: {alarm.provider} {alarm.message}" for alarm in chain.providers.alarms()]
                self.stdout.write(f"{network}: head {head.height}, final {head.finalized_height}")
            except (ImproperlyConfigured, ChainError) as error:
                problems.append(f"{network}: {error}")
        if problems:
            raise CommandError("\n".join(problems))
