"""`manage.py recover_deposits`: finds money at deposit addresses from their numbers alone, without a database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.environments import Environment
from config.money import Asset
from payments.chains import registry
from payments.chains.errors import ChainError, InvalidAddress
from payments.chains.evm import addresses
from payments.chains.evm.adapter import EvmChain
from payments.chains.evm.deposit_addresses import deployment
from payments.chains.evm.deposit_addresses.derivation import Derivation, Derivations
from payments.chains.evm.nodes import questions
from payments.chains.evm.nodes.providers import Providers

NUMBERS_AT_ONCE = 50


class Command(BaseCommand):
    help = (
        "Lists what is held at the deposit addresses of these numbers, on every evm network in use. A line of JSON "
        "for each that holds something has the salt that `sweep` of its factory takes. It needs EVM_FACTORY, "
        "EVM_ADDRESS_KEY and EVM_FORMER_ADDRESSES as they were, and no database."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--env", choices=Environment.values, default=Environment.PRODUCTION.value)
        parser.add_argument("--first", type=int, default=0, help="The first number; default 0.")
        parser.add_argument("--last", type=int, required=True, help="The last number: payments are numbered from 1 on.")
        parser.add_argument(
            "--factory", help="A factory that no setting names, as of an earlier deployment: its salts are the numbers."
        )

    def handle(self, *, env: str, first: int, last: int, factory: str | None, **options: Any) -> None:
        if not 0 <= first <= last:
            raise CommandError("--first and --last must be numbers from 0 on, in this order.")
        found = 0
        try:
            for network in registry.networks(env):
                if not registry.profile(env, network).shares_account:
                    found += self._search(env, network, range(first, last + 1), factory)
        except (ImproperlyConfigured, ChainError) as error:
            raise CommandError(str(error)) from error
        self.stderr.write(f"{found} of {last - first + 1} numbers hold something; `sweep` of the factory takes them.")

    def _search(self, env: str, network: str, numbers: range, factory: str | None) -> int:
        chain = registry.chain(env, network)
        if not isinstance(chain, EvmChain):
            raise CommandError(f"{network} is simulated in {env}: its money is in the database alone.")
        profile, providers = chain.profile, chain.providers
        try:
            derivations = Derivations(Derivation(addresses.parse(factory), None)) if factory else chain.derivations
        except InvalidAddress as error:
            raise CommandError(f"--factory: {error}") from error
        for place in derivations.factories:
            deployment.check(providers, place)
        found = 0
        coins = [*profile.assets.values(), profile.native]
        for number, address, held in _holdings(providers, derivations, numbers, coins):
            found += 1
            by = derivations.of(number)
            line = {
                "network": network,
                "number": number,
                "address": address,
                "factory": by.factory,
                "salt": hex(by.salt(number)),
                "held": held,
            }
            self.stdout.write(json.dumps(line))
        return found


def _holdings(
    providers: Providers, derivations: Derivations, numbers: range, coins: list[Asset]
) -> Iterator[tuple[int, str, dict[str, str]]]:
    """Numbers whose address holds something, with base units by coin."""
    height = providers.head().height
    for start in range(0, len(numbers), NUMBERS_AT_ONCE):
        some = numbers[start : start + NUMBERS_AT_ONCE]
        places = {number: derivations.address(number) for number in some}
        queried = [(number, coin) for number in some for coin in coins]
        answers = providers.agree(
            *(
                questions.token_balance(coin.contract, places[number], height)
                if coin.contract
                else questions.native_balance(places[number], height)
                for number, coin in queried
            )
        )
        held: dict[int, dict[str, str]] = {}
        for (number, coin), units in zip(queried, answers, strict=True):
            if units:
                held.setdefault(number, {})[coin.code] = str(units)
        yield from ((number, places[number], coins_held) for number, coins_held in held.items())
