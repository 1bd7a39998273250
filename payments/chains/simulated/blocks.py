"""The blocks of a simulated network: their hashes and times, what they moved, and what their senders use next."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection
from datetime import datetime

from django.db import connection
from django.db.models import Max, Sum

from payments.chains.networks import NETWORKS
from payments.chains.simulated.models import (
    SimulatedNetwork,
    SimulatedStatus,
    SimulatedTransaction,
    Stretch,
)
from payments.chains.simulated.networks import first_sequence, hot_wallet, native_endowment

NATIVE = ""
"""The contract of a native coin."""


_STRETCHES = """
    SELECT * FROM simulated_chain_stretch
    WHERE network_id = %(network)s AND first_height <= %(last)s AND first_height >= (
        SELECT max(first_height) FROM simulated_chain_stretch
        WHERE network_id = %(network)s AND first_height <= %(first)s
    )
    ORDER BY first_height
"""

_HOLDINGS = """
    SELECT moved.address, moved.contract, sum(moved.amount) FROM (
        SELECT transfer.recipient AS address, transfer.contract, transfer.amount, transfer.transaction_id
        FROM simulated_chain_simulatedtransfer AS transfer
        WHERE transfer.recipient = ANY(%(addresses)s) AND transfer.contract = ANY(%(contracts)s)
        UNION ALL
        SELECT transfer.source, transfer.contract, -transfer.amount, transfer.transaction_id
        FROM simulated_chain_simulatedtransfer AS transfer
        WHERE transfer.source = ANY(%(addresses)s) AND transfer.contract = ANY(%(contracts)s)
    ) AS moved
    JOIN simulated_chain_simulatedtransaction AS carrying ON carrying.id = moved.transaction_id
    WHERE carrying.network = %(network)s AND carrying.status = 'included' AND carrying.height <= %(height)s
    GROUP BY moved.address, moved.contract
"""


class Timetable:
    """Hashes and closing times of the blocks of a network, over a range of heights."""

    def __init__(self, row: SimulatedNetwork, first: int, last: int) -> None:
        self._network = row.network
        self._stretches = list(
            Stretch.objects.raw(_STRETCHES, {"network": row.network, "first": first, "last": max(first, last)})
        )
        self._starts = [stretch.first_height for stretch in self._stretches]

    def closed_at(self, height: int) -> datetime:
        return self._stretch(height).closed_at(height)

    def block_hash(self, height: int) -> str:
        text = f"{self._network} {height} {self._stretch(height).generation}"
        return NETWORKS[self._network].real.hash_prefix + hashlib.sha256(text.encode()).hexdigest()

    def _stretch(self, height: int) -> Stretch:
        return self._stretches[bisect_right(self._starts, height) - 1]


def newest_stretch(row: SimulatedNetwork) -> Stretch:
    return row.stretches.order_by("-first_height")[0]


def finalized_height(row: SimulatedNetwork) -> int:
    return max(0, row.height - NETWORKS[row.network].simulation.finality_depth)


def holdings(
    network: str, addresses: Collection[str], contracts: Collection[str], *, at_height: int
) -> dict[tuple[str, str], int]:
    """Base units by (address, contract) after the block at a height."""
    held: dict[tuple[str, str], int] = defaultdict(int)
    with connection.cursor() as cursor:
        cursor.execute(
            _HOLDINGS,
            {"addresses": [*addresses], "contracts": [*contracts], "network": network, "height": at_height},
        )
        for address, contract, amount in cursor.fetchall():
            held[address, contract] = int(amount)
    if NATIVE in contracts:
        if (wallet := hot_wallet(network)) in addresses:
            held[wallet, NATIVE] += native_endowment(network)
        charged = SimulatedTransaction.objects.filter(network=network, height__lte=at_height)
        for payer, paid in (
            ("sender", charged.filter(fee_payer="", sender__in=addresses)),
            ("fee_payer", charged.filter(fee_payer__in=addresses).exclude(fee_payer="")),
        ):
            for address, fees in paid.values_list(payer).annotate(Sum("fee_units")):
                held[address, NATIVE] -= fees
    return held


def next_sequences(network: str, senders: Collection[str], *, pending: bool) -> dict[str, int]:
    """The sequence each sender uses next, with or without counting what still waits for a block."""
    counted = [SimulatedStatus.INCLUDED, SimulatedStatus.FAILED] + [SimulatedStatus.PENDING] * pending
    used = SimulatedTransaction.objects.filter(network=network, sender__in=senders, status__in=counted)
    highest = dict(used.exclude(sequence=None).values_list("sender").annotate(Max("sequence")))
    return {sender: highest[sender] + 1 if sender in highest else first_sequence(network) for sender in senders}
