"""`manage.py change_addresses`: lets new payments have deposit addresses of another factory, or by the key."""

from __future__ import annotations

import getpass
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.environments import Environment
from payments.chains import registry
from payments.chains.errors import ChainError
from payments.chains.protocol.chain import Chain
from payments.deposits import address_derivations as derivations


class Command(BaseCommand):
    help = (
        "Compares EVM_FACTORY, EVM_ADDRESS_KEY and EVM_FORMER_ADDRESSES with what was noted. What they have more is "
        "checked on every network and noted; what would give a payment another address is refused, and the line to set "
        "is shown. With --begin, new payments get the new addresses: call that once every process has been started "
        "with the new settings. Addresses given out before stay watched and swept. With --env sandbox, the same on "
        "test networks, by the settings that begin with TESTNET_: to rehearse it."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--env", choices=Environment.values, default=Environment.PRODUCTION.value)
        parser.add_argument("--begin", action="store_true", help="New payments get the new addresses from now on.")

    def handle(self, *, begin: bool, env: str = Environment.PRODUCTION, **options: Any) -> None:
        try:
            chains = _evm_chains(env)
            known, ours = derivations.noted(env), derivations.of_settings(env, chains[0])
            if begin and ours != known:
                raise CommandError("The settings have not been noted yet: run this without --begin first.")
            if begin:
                number = derivations.begin(env)
                self.stdout.write(f"The next payment is number {number}: {derivations.name_of(ours, number)}.")
                return
            for chain in chains:
                chain.set_up.require()
            rows = derivations.note(env, chains[0], by=getpass.getuser())
        except (ImproperlyConfigured, ChainError) as error:
            raise CommandError(str(error)) from error
        except derivations.OtherAddresses as error:
            raise CommandError(f"{error.message} {_to_set(known, ours, registry.kind_of(env) or '')}") from error
        for row in rows:
            self.stdout.write(f"Noted: {row}.")
        if max(ours) > derivations.last_number() + 1:
            self.stdout.write("Restart every process with these settings, then run this again with --begin.")
        elif not rows:
            self.stdout.write("The settings are what was noted: nothing changes.")


def _evm_chains(environment: str) -> list[Chain]:
    if registry.kind_of(environment) is None:
        raise CommandError("The sandbox does not run on test networks: SANDBOX_CHAIN=testnet lets it.")
    found = [registry.chain(environment, network) for network in registry.networks(environment)]
    if not (with_addresses := [chain for chain in found if chain.derivations]):
        raise CommandError(f"No network with deposit addresses of its own is in use in {environment}.")
    return with_addresses


def _to_set(known: dict[int, str], ours: Any, prefix: str) -> str:
    """The setting that keeps what was noted, when the newest of the settings is to come after it."""
    if _keys(known) - _keys(ours) and _keys(ours):
        return f"{prefix}EVM_ADDRESS_KEY is not the key that addresses were given out by: set it to that one."
    if derivations.name_of(ours, max(ours)) == known[max(known)]:
        return f"Set {prefix}EVM_FACTORY and {prefix}EVM_ADDRESS_KEY to what new payments are to have."
    lasts = [first - 1 for first in sorted(known)[1:]] + [derivations.last_number() + derivations.ROOM]
    former = [known[first] for first in sorted(known)]
    pairs = ",".join(f"{last}={_as_set(name)}" for last, name in zip(lasts, former, strict=True))
    return f"Set {prefix}EVM_FORMER_ADDRESSES={pairs}"


def _keys(names: derivations.Names) -> set[str]:
    return {name.partition(":")[0] for name in names.values()} - {"plain"}


def _as_set(name: str) -> str:
    kind, _, factory = name.partition(":")
    return f"{kind.partition('-')[0]}:{factory}"
