"""Blocks, transfers and balances of a simulated network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, cast

from django.db.models import Q, QuerySet

from config.money import Asset
from payments.chains.errors import ChainUnavailable, FinalityViolation
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.scans import Cursor, Head, Scan, WatchList
from payments.chains.protocol.transfers import (
    FoundTransaction,
    IncomingTransfer,
    NonDeposit,
    OutgoingTransfer,
)
from payments.chains.readiness import require_fields
from payments.chains.simulated.blocks import NATIVE, Timetable, finalized_height, holdings
from payments.chains.simulated.clock import answering, refuse_in_outage, steady
from payments.chains.simulated.models import (
    SimulatedNetwork,
    SimulatedStatus,
    SimulatedTransaction,
    SimulatedTransfer,
    versions_of,
)
from payments.chains.simulated.networks import channels, contracts, hot_wallet, mint

SCAN_TRANSACTIONS = 1_000
"""On-chain transactions one scan looks at beyond what is re-read; a block is never cut in two."""

CURSOR_FIELDS = ("final", "final_hash", "read_to")

_CANDIDATES_PER_QUESTION = 5_000

_INCOMING = (
    "transaction__transaction_hash", "ordinal", "transaction__height", "contract", "amount", "source_muxed", "source",
    "recipient", "memo", "transaction_memo", "transaction__inner_hash",
)  # fmt: skip


class Reading:
    """The part of a simulated network's adapter that reads. Reading anything first lets the clock catch up."""

    def __init__(self, profile: NetworkProfile, *, scan_transactions: int = SCAN_TRANSACTIONS) -> None:
        self.profile = profile
        self._network = profile.network
        self._scan_transactions = scan_transactions
        self._assets = contracts(profile.network)

    def head(self) -> Head:
        row = answering(self._network)
        return self._head(row, Timetable(row, row.height, row.height))

    def scan(self, cursor: Cursor | None, watch: WatchList) -> Scan:
        with steady(self._network) as row:
            refuse_in_outage(row)
            if cursor is not None:
                require_fields(self._network, cursor, CURSOR_FIELDS)
            # Nothing is ever missed here by starting late: a first scan begins with the first block.
            final, read_to = (-1, -1) if cursor is None else (cursor["final"], cursor["read_to"])
            blocks = Timetable(row, max(0, final), row.height)
            head = self._head(row, blocks)
            if cursor is not None and (final > head.height or blocks.block_hash(final) != cursor["final_hash"]):
                raise FinalityViolation(f"The final block {final} of {self._network} is another one now.")
            first, last = final + 1, self._last_of_page(head.height, read_to)
            transfers = self._watched(first, last, blocks, watch) if first <= last else ()
            final = max(final, min(head.finalized_height, last))
            return Scan(
                first_height=first,
                last_height=last,
                last_block_time=blocks.closed_at(last),
                head=head,
                transfers=transfers,
                cursor={"final": final, "final_hash": blocks.block_hash(final), "read_to": last},
                caught_up=last == head.height,
            )

    def cursor_at(self, height: int) -> Cursor:
        row = self.reached(height)
        return {"final": height, "final_hash": Timetable(row, height, height).block_hash(height), "read_to": height}

    def find_transfers(self, transaction_hash: str) -> tuple[IncomingTransfer, ...]:
        row = answering(self._network)
        found = self.moved().filter(transaction__in=self._known(transaction_hash)).order_by("ordinal")
        height = found.values_list("transaction__height", flat=True).first()
        if height is None:
            return ()
        return self._incoming(found, Timetable(row, height, height))

    def find_transaction(self, transaction_hash: str) -> FoundTransaction | None:
        with steady(self._network) as row:
            refuse_in_outage(row)
            found = self._known(transaction_hash).exclude(status=SimulatedStatus.DROPPED).first()
            if found is None:
                return None
            known = found.transaction_hash
            if found.status == SimulatedStatus.PENDING:
                return FoundTransaction(known, "pending")
            if found.status == SimulatedStatus.FAILED:
                return FoundTransaction(known, "failed", found.height)
            idle = found.transfers.filter(Q(amount=0) | Q(contract=NATIVE)).order_by("ordinal")
            return FoundTransaction(
                known,
                "included",
                found.height,
                transfers=self.find_transfers(known),
                idle=tuple(
                    NonDeposit(each.contract, each.amount, each.source, each.recipient, each.memo or None)
                    for each in idle
                ),
            )

    def outgoing(
        self, address: str, *, first_height: int, last_height: int, signer: str = ""
    ) -> tuple[OutgoingTransfer, ...]:
        self.reached(last_height)
        ours = {address, *(channels(self._network) if address == hot_wallet(self._network) else ())}
        left = self.moved().filter(
            source=address,
            contract__in=self._assets,
            transaction__height__range=(first_height, last_height),
        )
        return tuple(
            OutgoingTransfer(
                transaction_hash=transfer.transaction.transaction_hash,
                sequence=transfer.transaction.sequence if transfer.transaction.sender in ours | {signer} else None,
                ordinal=transfer.ordinal,
                height=transfer.transaction.block_height,
                contract=transfer.contract,
                amount=transfer.amount,
                recipient=transfer.recipient,
                memo=transfer.memo or None,
                channel=transfer.transaction.sender if transfer.transaction.sender in ours - {address} else "",
            )
            for transfer in left.select_related("transaction").order_by(
                "transaction__height", "transaction_id", "ordinal"
            )
        )

    def pace(self) -> float:
        return self.profile.block_seconds

    def balances(self, addresses: Sequence[str], asset: Asset, *, at_height: int | None = None) -> dict[str, int]:
        row = self.reached(at_height or 0)
        height = row.height if at_height is None else at_height
        held = holdings(self._network, addresses, [asset.contract], at_height=height)
        return {address: units for (address, _), units in held.items() if units}

    def balance(self, address: str, asset: Asset, *, at_height: int | None = None) -> int:
        return self.balances([address], asset, at_height=at_height).get(address, 0)

    def reached(self, height: int) -> SimulatedNetwork:
        """The network as it is now; ChainUnavailable while the block at this height is still to come."""
        row = answering(self._network)
        if height > row.height:
            raise ChainUnavailable(f"{self._network} has not reached height {height} yet.")
        return row

    def _head(self, row: SimulatedNetwork, blocks: Timetable) -> Head:
        return Head(
            height=row.height,
            block_hash=blocks.block_hash(row.height),
            closed_at=blocks.closed_at(row.height),
            finalized_height=finalized_height(row),
        )

    def _last_of_page(self, head_height: int, read_to: int) -> int:
        """Where a scan stops: at the head, or after the block that fills a page."""
        beyond = (
            SimulatedTransaction.objects.filter(network=self._network, height__gt=read_to, height__lte=head_height)
            .order_by("height")
            .values_list("height", flat=True)
        )
        filled = beyond[self._scan_transactions - 1 : self._scan_transactions].first()
        return head_height if filled is None else filled

    def _known(self, text: str) -> QuerySet[SimulatedTransaction]:
        """The versions of the on-chain transaction that has this hash: at most one of them waits, or is in a block."""
        known, text = SimulatedTransaction.objects.filter(network=self._network), text.strip().lower()
        known_as = known.filter(transaction_hash=text).first()
        return known.filter(versions_of(text if known_as is None else known_as.root))

    def moved(self) -> QuerySet[SimulatedTransfer]:
        """Every transfer of a token that took place, in whichever block."""
        return SimulatedTransfer.objects.filter(
            transaction__network=self._network, transaction__status=SimulatedStatus.INCLUDED, amount__gt=0
        ).exclude(contract=NATIVE)

    def _watched(self, first: int, last: int, blocks: Timetable, watch: WatchList) -> tuple[IncomingTransfer, ...]:
        arrived = self.moved().filter(transaction__height__range=(first, last))
        # What is made for the hot wallet is the house's, and nobody's deposit.
        arrived = arrived.exclude(transaction__sender=mint(self._network), recipient=hot_wallet(self._network))
        # The cost of a query for watched recipients depends on the traffic, not on the length of the watch list.
        candidates = iter(arrived.order_by().values_list("recipient", flat=True).distinct())
        watched: set[str] = set()
        while some := list(islice(candidates, _CANDIDATES_PER_QUESTION)):
            watched |= watch.matching(some)
        if not watched:
            return ()
        found = arrived.filter(recipient__in=watched)
        return self._incoming(found.order_by("transaction__height", "transaction_id", "ordinal"), blocks)

    def _incoming(self, found: QuerySet[SimulatedTransfer], blocks: Timetable) -> tuple[IncomingTransfer, ...]:
        rows = cast("Iterable[tuple[Any, ...]]", found.values_list(*_INCOMING))
        return tuple(
            IncomingTransfer(
                transaction_hash=transaction_hash,
                ordinal=ordinal,
                height=height,
                block_hash=blocks.block_hash(height),
                block_time=blocks.closed_at(height),
                contract=contract,
                asset=self._assets.get(contract),
                amount=amount,
                sender=source_muxed or source,
                recipient=recipient,
                memo=memo or None,
                conflicting_memo=given_memo if given_memo not in ("", memo) else None,
                inner_hash=inner_hash,
            )
            for (
                transaction_hash, ordinal, height, contract, amount, source_muxed, source, recipient, memo, given_memo,
                inner_hash,
            ) in rows
        )  # fmt: skip
