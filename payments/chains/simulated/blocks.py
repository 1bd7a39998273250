"""The blocks of a simulated network: their hashes and times, what they moved, and what their senders use next."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from itertools import chain

from django.db.models import Max, Sum

from payments.chains.simulated.models import (
    SimulatedNetwork,
    SimulatedTransaction,
    SimulatedTransfer,
    Stretch,
    TransactionStatus,
)
from payments.chains.simulated.networks import FINALITY_DEPTH, hot_wallet, is_evm, native_endowment

NATIVE = ""
"""The contract of a network's own coin."""


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
    outgoing = moved.filter(source__in=addresses).values_list("source", "contract").annotate(Sum("amount"))
    for address, contract, amount in incoming:
        held[address, contract] += amount
    for address, contract, amount in outgoing:
        held[address, contract] -= amount
    if NATIVE in contracts:
        if (wallet := hot_wallet(network)) in addresses:
            held[wallet, NATIVE] += native_endowment(network)
        charged = SimulatedTransaction.objects.filter(network=network, sender__in=addresses, height__lte=at_height)
        for address, fees in charged.values_list("sender").annotate(Sum("fee_units")):
            held[address, NATIVE] -= fees
    return held


def next_sequences(network: str, senders: Collection[str], *, pending: bool) -> dict[str, int]:
    """The sequence each sender uses next, with or without counting what still waits for a block."""
    counted = [TransactionStatus.INCLUDED, TransactionStatus.FAILED] + [TransactionStatus.PENDING] * pending
    used = SimulatedTransaction.objects.filter(network=network, sender__in=senders, status__in=counted)
    highest = dict(used.values_list("sender").annotate(Max("sequence")))
    return {sender: 0 if highest.get(sender) is None else highest[sender] + 1 for sender in senders}
