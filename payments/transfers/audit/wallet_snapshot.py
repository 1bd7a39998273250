"""Snapshot of the hot wallets on the networks, read before the ledger is.

In this order, all that a network shows has been signed, and stored, before the rows are read: no transfer of ours can
look like somebody else's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast

from django.utils import timezone

from merchants.ledger.chart import kinds_where
from merchants.ledger.checking import CouldNotCheck, Finding, NetworkKey, Scope, Severity
from payments.chains import registry
from payments.chains.errors import ChainError
from payments.chains.protocol.chain import Chain
from payments.transfers.models import Wallet
from payments.transfers.wallets import expected_sequences

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class WalletSnapshot:
    """A network's hot wallets at its final height: every address ever paid from, and the next sequence of each of its
    channels, the wallet itself being the one without a name."""

    environment: str
    network: str
    chain: Chain
    finalized_height: int
    next_sequences: Mapping[str, Mapping[str, int]]
    block_time: timedelta
    """Between two blocks as measured, at most what is usual: rather too many blocks are looked at. 0: not known."""

    @property
    def addresses(self) -> tuple[str, ...]:
        return tuple(self.next_sequences)

    @property
    def accounts(self) -> tuple[str, ...]:
        """The wallets and their channels: all whose native coins pay fees."""
        channels = (channel for each in self.next_sequences.values() for channel in each if channel)
        return tuple(dict.fromkeys([*self.addresses, *channels]))

    def height_before(self, instant: datetime) -> int:
        """A final height that is certainly older: blocks may come at twice their pace."""
        if not self.block_time:
            return 0
        return max(0, self.finalized_height - 2 * (timezone.now() - instant) // self.block_time - 1)

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
        """A finding about this network."""
        key = (self.environment, self.network)
        return Finding(subject, expected, actual, proposal, delta, severity, *key, asset, identity)

    @property
    def blocks_of_a_day(self) -> int:
        return DAY // self.block_time if self.block_time else self.finalized_height


def take_wallet_snapshots(scope: Scope) -> dict[NetworkKey, WalletSnapshot | ChainError]:
    """The snapshot of every network in use with coins or a wallet of ours; its error for one that does not answer."""
    return {
        key: take_wallet_snapshot(*key) for key in networks_with_wallets(scope) if key[1] in registry.networks(key[0])
    }


WITH_COINS_OR_WALLETS = """
    SELECT environment, network FROM ledger_account
    WHERE environment = ANY(%(environments)s) AND (%(network)s::text IS NULL OR network = %(network)s)
        AND kind = ANY(%(kinds)s)
    UNION
    SELECT environment, network FROM transfers_wallet
    WHERE environment = ANY(%(environments)s) AND (%(network)s::text IS NULL OR network = %(network)s)
"""


def networks_with_wallets(scope: Scope) -> list[NetworkKey]:
    """Networks with coins or wallets of ours, in use or not."""
    rows = scope.rows(WITH_COINS_OR_WALLETS, kinds=kinds_where(on_chain=True))
    return sorted((environment, network) for environment, network in rows)


def wallet_snapshots(scope: Scope) -> Iterator[WalletSnapshot]:
    """Yields the snapshots of networks that answered; raises CouldNotCheck at the end when others did not."""
    seen = cast(dict[NetworkKey, WalletSnapshot | ChainError], scope.observed(take_wallet_snapshots))
    silent = []
    for (_, network), snapshot in seen.items():
        if isinstance(snapshot, WalletSnapshot):
            yield snapshot
        else:
            silent.append(f"{network} did not answer: {snapshot}")
    if silent:
        raise CouldNotCheck("; ".join(silent))


def take_wallet_snapshot(environment: str, network: str) -> WalletSnapshot | ChainError:
    """The snapshot of a network's hot wallets now; the error when it did not answer."""
    chain = registry.chain(environment, network)
    wallets = list(Wallet.objects.filter(environment=environment, network=network).order_by("pk"))
    try:
        address, height = chain.payout_address(), chain.reading.head().finalized_height
        if address not in {wallet.address for wallet in wallets}:
            wallets.insert(0, Wallet(environment=environment, network=network, address=address))
        expected = {wallet.address: expected_sequences(wallet, chain) for wallet in wallets}
        block_time = timedelta(seconds=min(chain.profile.block_seconds, chain.reading.pace()))
        return WalletSnapshot(environment, network, chain, height, expected, block_time)
    except ChainError as error:
        return error
