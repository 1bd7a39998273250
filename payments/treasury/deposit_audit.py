"""Reads a network again, block by block, and compares what arrived there with the deposits."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import datetime
from itertools import starmap
from typing import NamedTuple

from django.db.models import Min, QuerySet

from config.ids import first_uuid_at
from merchants.ledger.checking import Finding, Severity
from payments.chains.protocol.scans import Scan
from payments.chains.protocol.transfers import Identity, IncomingTransfer
from payments.chains.providers.sources import another_provider
from payments.deposits.addresses import PaymentAddresses
from payments.deposits.models import ReadingRequest, ScanCursor
from payments.deposits.unattributed import Surpluses
from payments.models import Deposit
from payments.states import DepositStatus
from payments.transfers.audit.wallet_snapshot import WalletSnapshot

DEPOSITS_AT_A_TIME = 500


class _Recorded(NamedTuple):
    """What is compared of a deposit, by the names of its columns."""

    pk: uuid.UUID
    transaction_hash: str
    ordinal: int
    amount: int
    recipient: str
    status: str
    booked_to: str
    is_surplus: bool


class DepositAudit:
    """Compares both ways: a booked deposit is on the chain as it was booked, and what arrived for us is a deposit.

    Blocks are read up to the newest that the watcher has read and that is final. A deposit that was credited in a later
    block is looked up by its transaction hash.
    """

    def __init__(self, snapshot: WalletSnapshot, *, since: datetime | None) -> None:
        self._snapshot = snapshot
        self._since = since
        self._here = Deposit.objects.filter(environment=snapshot.environment, network=snapshot.network)
        cursor = ScanCursor.objects.filter(environment=snapshot.environment, network=snapshot.network).first()
        self._last = min(snapshot.finalized_height, cursor.head_height if cursor else 0)
        self._first = self._first_height()
        self._unattributed: set[str] = set()

    def findings(self) -> Iterator[Finding]:
        for scan in self._scans():
            until = min(scan.last_height, self._last)
            arrived = {
                transfer.identity: transfer
                for transfer in scan.transfers
                if transfer.asset is not None and transfer.height <= until
            }
            for deposit in self._of_blocks(scan.first_height, until):
                found = arrived.pop((deposit.transaction_hash, deposit.ordinal), None)
                if self._is_counted(deposit) and (found is None or not _is_same(deposit, found)):
                    yield from self._look_for(self._here.get(pk=deposit.pk))
            if not self._snapshot.chain.profile.shares_account:  # on a shared one, the operator's coins arrive too
                yield from self._unrecorded(arrived)
        elsewhere = self._counted().exclude(height__range=(self._first, self._last))
        for other in elsewhere.iterator(chunk_size=DEPOSITS_AT_A_TIME):
            yield from self._look_for(other)

    def _first_height(self) -> int:
        if self._since is not None:
            return max(1, self._snapshot.height_before(self._since))
        lowest: int | None = self._here.aggregate(first=Min("height"))["first"]
        return max(1, (self._last if lowest is None else lowest) - self._snapshot.blocks_of_a_day)

    def _scans(self) -> Iterator[Scan]:
        if self._first > self._last:
            return
        addresses = PaymentAddresses(self._snapshot.environment, self._snapshot.network)
        cursor = self._snapshot.chain.reading.cursor_at(self._first - 1)
        while True:
            scan = self._snapshot.chain.reading.scan(cursor, addresses)
            yield scan
            if scan.caught_up or scan.last_height >= self._last:
                return
            cursor = scan.cursor

    def _of_blocks(self, first: int, last: int) -> Iterator[_Recorded]:
        """The deposits of these heights that no reorganisation undid. A model of each would take most of a full run."""
        here = self._here.filter(height__range=(first, last)).exclude(status=DepositStatus.ORPHANED)
        return starmap(_Recorded, here.values_list(*_Recorded._fields).iterator(chunk_size=DEPOSITS_AT_A_TIME))

    def _is_counted(self, deposit: _Recorded) -> bool:
        """As `_counted`, of one that was read."""
        is_booked = deposit.status == DepositStatus.CREDITED and deposit.booked_to != ""
        return is_booked and (self._since is None or deposit.pk >= first_uuid_at(self._since))

    def _counted(self) -> QuerySet[Deposit]:
        """The deposits that are in the ledger."""
        counted = self._here.filter(status=DepositStatus.CREDITED).exclude(booked_to="")
        return counted if self._since is None else counted.filter(pk__gte=first_uuid_at(self._since))

    def _look_for(self, deposit: Deposit) -> Iterator[Finding]:
        """Look for a deposit by its hash: its height may be wrong and the rest right."""
        found = self._snapshot.chain.reading.find_transfers(deposit.transaction_hash)
        same = next((transfer for transfer in found if transfer.ordinal == deposit.ordinal), None)
        if same is not None and _is_same(deposit, same):
            return
        amount = same.amount if same else 0
        yield self._snapshot.finding(
            f"deposit {deposit}",
            int(deposit.amount),
            amount if same is None or same.recipient == deposit.recipient else f"{amount} to {same.recipient}",
            f"halt the network and look at the on-chain transaction with {another_provider(deposit.said_by)}",
            delta=amount - int(deposit.amount),
            asset=deposit.asset,
        )

    def _unrecorded(self, arrived: dict[Identity, IncomingTransfer]) -> Iterator[Finding]:
        """What arrived and is no deposit of its blocks: nor one of others, nor covered by a surplus."""
        if not arrived:
            return
        hashes = {transaction_hash for transaction_hash, _ in arrived}
        known = set(
            self._here.filter(transaction_hash__in=hashes)
            .exclude(status=DepositStatus.ORPHANED)
            .values_list("transaction_hash", "ordinal")
        )
        surpluses = Surpluses(
            self._snapshot.environment, self._snapshot.network, {transfer.recipient for transfer in arrived.values()}
        )
        missing = [
            transfer
            for identity, transfer in arrived.items()
            if identity not in known
            and (self._since is None or transfer.block_time >= self._since)
            and not surpluses.cover(transfer)
        ]
        expected = PaymentAddresses(self._snapshot.environment, self._snapshot.network).expected(missing)
        for transfer in missing:
            if transfer.identity not in expected:
                yield self._unattributed_finding(transfer)
                continue
            yield self._snapshot.finding(
                f"{self._snapshot.network}:{transfer.transaction_hash}:{transfer.ordinal} to {transfer.recipient}",
                "a deposit",
                "none",
                "clear the cursor of the network, so that it is read again from before this block",
                delta=transfer.amount,
                asset=transfer.asset.code if transfer.asset else None,
            )

    def _unattributed_finding(self, transfer: IncomingTransfer) -> Finding:
        """A transfer to an address that no scan watched then: its rescan is requested after the run."""
        self._unattributed.add(transfer.transaction_hash)
        return self._snapshot.finding(
            f"{self._snapshot.network}:{transfer.transaction_hash}:{transfer.ordinal} to {transfer.recipient}",
            "a deposit",
            f"{transfer.amount} that nobody had asked for",
            "nothing: it is being read, and waits in suspense then; see Discrepancies in the admin",
            severity=Severity.WARNING,
        )

    def request_readings(self) -> None:
        """Request a rescan of the transfers to unwatched addresses. Not inside the snapshot, which is read-only."""
        network = self._snapshot.network
        ReadingRequest.store(self._snapshot.environment, [(network, named) for named in sorted(self._unattributed)])


def _is_same(deposit: Deposit | _Recorded, transfer: IncomingTransfer) -> bool:
    if deposit.is_surplus:  # known by the sweep that took it away
        return transfer.sender == deposit.recipient and transfer.amount >= deposit.amount
    return (transfer.amount, transfer.recipient) == (int(deposit.amount), deposit.recipient)
