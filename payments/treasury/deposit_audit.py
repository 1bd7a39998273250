"""Reading a network once more, block by block, to hold what arrived there against the deposits."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.db.models import Min, QuerySet

from merchants.ledger.invariants import Finding, Severity
from payments.chains.base import Identity, IncomingTransfer, Scan
from payments.chains.networks import SHARED_WALLETS
from payments.models import Deposit, ReadingRequest, ScanCursor
from payments.states import DepositStatus
from payments.strays import Surpluses
from payments.transfers.sighting import Sight
from payments.watching import PaymentAddresses

DEPOSITS_AT_A_TIME = 500


class Rereading:
    """Both ways: a deposit that counts is on the chain as it was booked, and what arrived for us is a deposit.

    Only up to where the network has been read, and is final. What was credited above that is asked for one by one.
    """

    def __init__(self, sight: Sight, *, since: datetime | None) -> None:
        self._sight = sight
        self._since = since
        self._here = Deposit.objects.filter(environment=sight.environment, network=sight.network)
        cursor = ScanCursor.objects.filter(environment=sight.environment, network=sight.network).first()
        self._last = min(sight.finalized_height, cursor.head_height if cursor else 0)
        self._first = self._first_height()
        self._strays: set[str] = set()

    def findings(self) -> Iterator[Finding]:
        for scan in self._scans():
            until = min(scan.last_height, self._last)
            arrived = {
                transfer.identity: transfer
                for transfer in scan.transfers
                if transfer.asset is not None and transfer.height <= until
            }
            for deposit in (
                self._counted().filter(height__range=(scan.first_height, until)).iterator(chunk_size=DEPOSITS_AT_A_TIME)
            ):
                found = arrived.get((deposit.transaction_hash, deposit.ordinal))
                if found is None or not _is_same(deposit, found):
                    yield from self._ask_for(deposit)
            if self._sight.network not in SHARED_WALLETS:  # there the operator's own coins arrive as well
                yield from self._unrecorded(arrived)
        for deposit in self._counted().exclude(height__range=(self._first, self._last)):
            yield from self._ask_for(deposit)

    def _first_height(self) -> int:
        if self._since is not None:
            return max(1, self._sight.height_before(self._since))
        lowest: int | None = self._here.aggregate(first=Min("height"))["first"]
        return max(1, (self._last if lowest is None else lowest) - self._sight.blocks_of_a_day)

    def _scans(self) -> Iterator[Scan]:
        if self._first > self._last:
            return
        addresses = PaymentAddresses(self._sight.environment, self._sight.network)
        cursor = self._sight.chain.cursor_at(self._first - 1)
        while True:
            scan = self._sight.chain.scan(cursor, addresses)
            yield scan
            if scan.caught_up or scan.last_height >= self._last:
                return
            cursor = scan.cursor

    def _counted(self) -> QuerySet[Deposit]:
        """The deposits that are in the books."""
        counted = self._here.filter(status=DepositStatus.CREDITED).exclude(booked_to="")
        return counted if self._since is None else counted.filter(seen_at__gte=self._since)

    def _ask_for(self, deposit: Deposit) -> Iterator[Finding]:
        """Its height may be wrong and the rest right: only its hash says whether it is there."""
        found = self._sight.chain.find_transfers(deposit.transaction_hash)
        same = next((transfer for transfer in found if transfer.ordinal == deposit.ordinal), None)
        if same is not None and _is_same(deposit, same):
            return
        amount = same.amount if same else 0
        yield self._sight.finding(
            f"deposit {deposit}",
            int(deposit.amount),
            amount if same is None or same.recipient == deposit.recipient else f"{amount} to {same.recipient}",
            "halt the network and look at the on-chain transaction with a second provider",
            delta=amount - int(deposit.amount),
            asset=deposit.asset,
        )

    def _unrecorded(self, arrived: dict[Identity, IncomingTransfer]) -> Iterator[Finding]:
        hashes = {transaction_hash for transaction_hash, _ in arrived}
        known = set(
            self._here.filter(transaction_hash__in=hashes)
            .exclude(status=DepositStatus.ORPHANED)
            .values_list("transaction_hash", "ordinal")
        )
        surpluses = Surpluses(
            self._sight.environment, self._sight.network, {transfer.recipient for transfer in arrived.values()}
        )
        missing = [
            transfer
            for identity, transfer in arrived.items()
            if identity not in known
            and (self._since is None or transfer.block_time >= self._since)
            and not surpluses.cover(transfer)
        ]
        expected = PaymentAddresses(self._sight.environment, self._sight.network).expected(missing)
        for transfer in missing:
            if transfer.identity not in expected:
                yield self._stray(transfer)
                continue
            yield self._sight.finding(
                f"{self._sight.network}:{transfer.transaction_hash}:{transfer.ordinal} to {transfer.recipient}",
                "a deposit",
                "none",
                "clear the cursor of the network, so that it is read again from before this block",
                delta=transfer.amount,
                asset=transfer.asset.code if transfer.asset else None,
            )

    def _stray(self, transfer: IncomingTransfer) -> Finding:
        """Nobody had asked for this money, and no scan looked there then: it is read as soon as the run is over."""
        self._strays.add(transfer.transaction_hash)
        return self._sight.finding(
            f"{self._sight.network}:{transfer.transaction_hash}:{transfer.ordinal} to {transfer.recipient}",
            "a deposit",
            f"{transfer.amount} that nobody had asked for",
            "nothing: it is being read, and waits in suspense then; see Discrepancies in the admin",
            severity=Severity.WARNING,
        )

    def ask_for_strays(self) -> None:
        """Have the watcher read the strays that were found. Not inside the snapshot, which is read-only."""
        ReadingRequest.objects.bulk_create(
            [
                ReadingRequest(
                    environment=self._sight.environment, network=self._sight.network, transaction_hash=transaction_hash
                )
                for transaction_hash in sorted(self._strays)
            ],
            ignore_conflicts=True,
        )


def _is_same(deposit: Deposit, transfer: IncomingTransfer) -> bool:
    if deposit.is_surplus:  # known by the sweep that took it away
        return transfer.sender == deposit.recipient and transfer.amount >= deposit.amount
    return (transfer.amount, transfer.recipient) == (int(deposit.amount), deposit.recipient)
