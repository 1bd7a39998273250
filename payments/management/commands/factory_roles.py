"""`manage.py factory_roles`: who holds the roles of the factory, and what its owner must send to change one."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.environments import Environment
from config.errors import DomainError
from payments.chains import registry
from payments.chains.errors import ChainError, InvalidAddress
from payments.chains.evm.adapter import EvmChain
from payments.chains.evm.deposit_addresses import deployment
from payments.chains.protocol.roles import Role


class Command(BaseCommand):
    help = (
        "Shows who holds the roles of the factory on each network, who should, and the calls of the owner that change "
        "it. They are for a hardware wallet or a multisig. Sends nothing. Exits with 1 while a role is somebody "
        "else's."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--env", choices=Environment.values, default=Environment.PRODUCTION.value)
        parser.add_argument("--network", help="Only on this one.")
        parser.add_argument("--offer-to", help="Show how the owner hands the factory to this address.")

    def handle(self, *, env: str, network: str | None = None, offer_to: str | None = None, **options: Any) -> None:
        wrong, has_factory = [], False
        for name in [network] if network else registry.networks(env):
            try:
                chain = registry.chain(env, name)
                if not isinstance(chain, EvmChain):
                    continue
                roles = chain.roles.holders()
                new_owner = chain.parse_address(offer_to) if offer_to else ""
            except InvalidAddress as error:
                raise CommandError(f"--offer-to: {error}") from error
            except (ImproperlyConfigured, ChainError, DomainError) as error:
                raise CommandError(f"{name}: {error}") from error
            has_factory = True
            self.stdout.write(f"{name}: {chain.factory}")
            wrong += [f"{name}: {role.name}" for role in roles if self._show(role)]
            self._show_appointment(chain.factory, {role.name: role for role in roles})
            if new_owner:
                self._show_call("The owner offers it", chain.factory, deployment.offer_of_ownership(new_owner))
                accepting = deployment.acceptance_of_ownership()
                self._show_call(f"{new_owner} accepts it", chain.factory, accepting)
        if not has_factory:
            self.stdout.write(f"{network or 'No network'} of {env} has {'no' if network else 'a'} factory.")
        if wrong:
            raise CommandError(f"Not as the settings say: {'; '.join(wrong)}.")

    def _show(self, role: Role) -> bool:
        """Print the role's holder; True if somebody else holds it."""
        is_wrong = role.holder != role.expected
        should = f"  should be {role.expected or 'set: EVM_OWNER is empty'}" if is_wrong else ""
        self.stdout.write(f"  {role.name:9} {role.holder}{should}")
        return is_wrong

    def _show_appointment(self, factory: str, roles: dict[str, Role]) -> None:
        operator, treasury = roles["operator"], roles["treasury"]
        if (operator.holder, treasury.holder) != (operator.expected, treasury.expected):
            call = deployment.appointment(operator.expected, treasury.expected)
            self._show_call("The owner appoints operator and treasury", factory, call)

    def _show_call(self, what: str, factory: str, data: bytes) -> None:
        self.stdout.write(f"  {what}:\n    to    {factory}\n    data  0x{data.hex()}")
