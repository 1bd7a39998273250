"""The blocks of a simulated network: their hashes and times, what they moved, and how one is filled."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from itertools import chain
from typing import Any

from django.db.models import Max, Sum

from payments.chains.simulated.models import (
    SimulatedNetwork,
    SimulatedTransaction,
    SimulatedTransfer,
    Stretch,
    TransactionStatus,
)
from payments.chains.simulated.networks import FINALITY_DEPTH, is_evm, mint


class Timetable:
    """Hashes and closing times of the blocks of a network, over a range of heights."""

    def __init__(self, row: SimulatedNetwork, first: int, last: int) -> None:
        before = row.stretches.filter(first_height__lte=first).order_by("-first_height")[:1]
        within = row.stretches.filter(first_height__gt=first, first_height__lte=last)
        self._network = row.network
        self._stretches = list(chain(before, within))
        self._starts = [stretch.first_height for stretch in self._stretches]

    def closed_at(self, height: int) -> datetime:
        return self._stretch(height).closed_at(height)

    def block_hash(self, height: int) -> str:
        text = f"{self._network} {height} {self._stretch(height).generation}"
        digest = hashlib.sha256(text.encode()).hexdigest()
        return f"0x{digest}" if is_evm(self._network) else digest

    def _stretch(self, height: int) -> Stretch:
        return self._stretches[bisect_right(self._starts, height) - 1]


def newest_stretch(row: SimulatedNetwork) -> Stretch:
    return row.stretches.order_by("-first_height")[0]


def finalized_height(row: SimulatedNetwork) -> int:
    return max(0, row.height - FINALITY_DEPTH[row.network])


def holdings(
    network: str, addresses: Collection[str], contracts: Collection[str], *, at_height: int
) -> dict[tuple[str, str], int]:
    """Base units by (address, contract) after the block at a height."""
    moved = SimulatedTransfer.objects.filter(
        transaction__network=network,
        transaction__status=TransactionStatus.INCLUDED,
        transaction__height__lte=at_height,
        contract__in=contracts,
    ).order_by()
    held: dict[tuple[str, str], int] = defaultdict(int)
    incoming = moved.filter(recipient__in=addresses).values_list("recipient", "contract").annotate(Sum("amount"))
    outgoing = moved.filter(transaction__sender__in=addresses).values_list("transaction__sender", "contract")
    for address, contract, amount in incoming:
        held[address, contract] += amount
    for address, contract, amount in outgoing.annotate(Sum("amount")):
        held[address, contract] -= amount
    return held


def next_sequences(network: str, senders: Collection[str], *, pending: bool) -> dict[str, int]:
    """The sequence each sender uses next, with or without counting what still waits for a block."""
    counted = [TransactionStatus.INCLUDED, TransactionStatus.FAILED] + [TransactionStatus.PENDING] * pending
    used = SimulatedTransaction.objects.filter(network=network, sender__in=senders, status__in=counted)
    highest = dict(used.values_list("sender").annotate(Max("sequence")))
    return {sender: 0 if highest.get(sender) is None else highest[sender] + 1 for sender in senders}


def fill(row: SimulatedNetwork, height: int) -> None:
    """Give everything that waits to the block at this height, oldest first."""
    waiting = list(
        SimulatedTransaction.objects.filter(network=row.network, status=TransactionStatus.PENDING)
        .order_by("id")
        .prefetch_related("transfers")
    )
    if not waiting:
        return
    closed_at = Timetable(row, height, height).closed_at(height)
    block = _Block(row, height, closed_at, waiting)
    while waiting:
        held_back = [candidate for candidate in waiting if not block.take(candidate)]
        if len(held_back) == len(waiting):
            break
        waiting = held_back  # what waited for an earlier sequence may fit now
    for (status, error), keys in block.outcomes.items():
        in_a_block = status != TransactionStatus.DROPPED
        SimulatedTransaction.objects.filter(pk__in=keys).update(
            status=status, error=error, height=height if in_a_block else None
        )


class _Block:
    """A block being filled: what its senders still hold, and which sequence each must use next."""

    def __init__(
        self, row: SimulatedNetwork, height: int, closed_at: datetime, waiting: list[SimulatedTransaction]
    ) -> None:
        senders = {candidate.sender for candidate in waiting}
        contracts = {transfer.contract for candidate in waiting for transfer in candidate.transfers.all()}
        self._closed_at = closed_at
        self._mint = mint(row.network)
        self._held = defaultdict(int, holdings(row.network, senders, contracts, at_height=height - 1))
        self._expected = next_sequences(row.network, senders, pending=False)
        self.outcomes: dict[tuple[str, str], list[Any]] = defaultdict(list)

    def take(self, candidate: SimulatedTransaction) -> bool:
        """Settle what becomes of a candidate; False when it must wait for an earlier sequence."""
        if candidate.valid_until is not None and candidate.valid_until < self._closed_at:
            self.outcomes[TransactionStatus.DROPPED, "expired"].append(candidate.pk)
            return True
        if candidate.sequence is not None:
            if candidate.sequence != self._expected[candidate.sender]:
                return False
            self._expected[candidate.sender] += 1
        if candidate.sender != self._mint and not self._is_covered(candidate):
            self.outcomes[TransactionStatus.FAILED, "insufficient balance"].append(candidate.pk)
            return True
        for transfer in candidate.transfers.all():
            self._held[candidate.sender, transfer.contract] -= transfer.amount
            self._held[transfer.recipient, transfer.contract] += transfer.amount
        self.outcomes[TransactionStatus.INCLUDED, ""].append(candidate.pk)
        return True

    def _is_covered(self, candidate: SimulatedTransaction) -> bool:
        spent: dict[str, int] = defaultdict(int)
        for transfer in candidate.transfers.all():
            spent[transfer.contract] += transfer.amount
        return all(self._held[candidate.sender, contract] >= amount for contract, amount in spent.items())
