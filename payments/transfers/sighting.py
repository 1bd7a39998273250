"""What the networks say of the hot wallets, looked at before the books are read.

In this order, whatever the network shows was signed for in the rows that are read after it: nothing looks as if nobody
here had sent it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from django.utils import timezone

from merchants.ledger.chart import kinds_where
from merchants.ledger.invariants import CouldNotCheck, Finding, Scope, Severity
from merchants.ledger.models import Account
from payments.chains import registry
from payments.chains.base import Chain
from payments.chains.errors import ChainError
from payments.transfers.models import Wallet

Place = tuple[str, str]
"""An environment and a network."""

DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Sight:
    """A network's hot wallets as it showed them: every address ever paid from, and the next sequence of each."""

    environment: str
    network: str
    chain: Chain
    finalized_height: int
    next_sequences: Mapping[str, int]

    @property
    def addresses(self) -> tuple[str, ...]:
        return tuple(self.next_sequences)

    def height_before(self, instant: datetime) -> int:
        """A final height that is certainly older: blocks may come at twice their pace."""
        pace = self.chain.profile.block_seconds
        if not pace:
            return 0
        seconds = (timezone.now() - instant).total_seconds()
        return max(0, self.finalized_height - int(2 * seconds / pace) - 1)

    def finding(
        self,
        subject: str,
        expected: int | str,
        actual: int | str,
        proposal: str,
        *,
        delta: int | None = None,
        severity: Severity | None = None,
        asset: str | None = None,
        identity: str = "",
    ) -> Finding:
        """Something that is not as it must be on this network."""
        place = (self.environment, self.network)
        return Finding(subject, expected, actual, proposal, delta, severity, *place, asset, identity)

    @property
    def blocks_of_a_day(self) -> int:
        pace = self.chain.profile.block_seconds
        return int(DAY_SECONDS / pace) if pace else self.finalized_height


def look_at_wallets(scope: Scope) -> dict[Place, Sight | ChainError]:
    """Ask every network in use that we hold coins on, or have a wallet on. One that does not answer keeps its error."""
    return {place: look(*place) for place in places(scope) if place[1] in registry.networks(place[0])}


def places(scope: Scope) -> list[Place]:
    """Where there are coins or wallets, in use or not."""
    accounts = Account.objects.filter(environment__in=scope.environments, kind__in=kinds_where(on_chain=True))
    wallets = Wallet.objects.filter(environment__in=scope.environments)
    found = set(accounts.order_by().values_list("environment", "network").distinct())
    found |= set(wallets.values_list("environment", "network").distinct())
    return sorted(place for place in found if scope.network in (None, place[1]))


def sights(scope: Scope) -> Iterator[Sight]:
    """The networks that answered; at the end CouldNotCheck, when there were others."""
    seen = cast(dict[Place, Sight | ChainError], scope.observed(look_at_wallets))
    silent = []
    for (_, network), sight in seen.items():
        if isinstance(sight, Sight):
            yield sight
        else:
            silent.append(f"{network} did not answer: {sight}")
    if silent:
        raise CouldNotCheck("; ".join(silent))


def look(environment: str, network: str) -> Sight | ChainError:
    """A network's hot wallets as they are now; what it said instead, when it did not answer."""
    chain = registry.chain(environment, network)
    known = Wallet.objects.filter(environment=environment, network=network)
    try:
        addresses = {chain.payout_address(): None} | {wallet.address: None for wallet in known.order_by("pk")}
        height = chain.head().finalized_height
        return Sight(environment, network, chain, height, {each: chain.next_sequence(each) for each in addresses})
    except ChainError as error:
        return error
