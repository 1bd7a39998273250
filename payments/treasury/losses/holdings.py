"""Expected balances of deposit addresses by the ledger, and their balances on the network, at one final block."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Min

from merchants.ledger.checking import ROWS_AT_A_TIME
from payments.deposits.models import ScanCursor
from payments.models import Deposit
from payments.transfers.audit.wallet_snapshot import WalletSnapshot
from payments.transfers.models import Envelope
from payments.transfers.states import TransferPurpose
from payments.treasury.lost_sweeps import gone_to_us

ADDRESSES_OF_A_QUICK_RUN = 1_000
"""Number of addresses in a quick run; the next one goes on after them."""


@dataclass(frozen=True, slots=True)
class Holding:
    """One coin at one deposit address at a height, in base units.

    `expected` is what `deposits` amount to, less what was booked as lost. Of it, `known_missing` waits for a decision
    since an earlier run.
    """

    environment: str
    network: str
    asset: str
    decimals: int
    address: str
    payment_id: uuid.UUID | None
    merchant_id: uuid.UUID | None
    deposits: tuple[uuid.UUID, ...]
    expected: int
    known_missing: int
    height: int
    on_chain: int = 0

    @property
    def missing(self) -> int:
        return max(0, self.expected - self.on_chain)

    @property
    def excess(self) -> int:
        return max(0, self.on_chain - self.expected)


@dataclass(slots=True)
class Comparison:
    """Findings of one run about the addresses of a network."""

    environment: str
    network: str
    read_to: str = ""
    """Position where a quick run stopped; empty when it has come to the end."""
    is_quick: bool = False
    to_note: list[Holding] = field(default_factory=list)
    """Holdings with missing coins, now or before."""
    not_in_ledger: int = 0
    """At how many addresses the ledger still has coins that came to a wallet of ours."""


# A deposit is at its address until a sweep has emptied that: the sweep it is marked with, or a later one that took it
# along. Addresses that held less when they were emptied are `short`: full runs look for those. An address is read while
# the ledger has coins there, or once had some that were missing.
EXPECTED = """
    WITH here AS (
        SELECT deposit.id, deposit.asset, deposit.decimals, deposit.recipient AS address,
            deposit.amount - deposit.missing AS amount, deposit.booked_to <> '' AS is_booked
        FROM payments_deposit AS deposit
        LEFT JOIN payments_sweep AS sweep ON sweep.id = deposit.sweep_id AND sweep.moved > 0
        LEFT JOIN transfers_transfer AS transfer ON transfer.id = sweep.transfer_id
        WHERE deposit.environment = %(environment)s AND deposit.network = %(network)s
            AND deposit.asset = ANY(%(assets)s)
            AND deposit.status <> 'orphaned' AND deposit.height <= %(height)s
            AND (transfer.height IS NULL OR transfer.height > %(height)s)
            AND (deposit.sweep_id IS NOT NULL OR NOT EXISTS (
                SELECT FROM payments_deposit AS other
                JOIN payments_sweep AS emptied ON emptied.id = other.sweep_id AND emptied.moved > 0
                JOIN transfers_transfer AS emptying ON emptying.id = emptied.transfer_id
                WHERE other.payment_id = deposit.payment_id AND other.network = deposit.network
                    AND other.asset = deposit.asset
                    AND emptying.height > deposit.height AND emptying.height <= %(height)s
            ))
    ), present AS (
        SELECT asset, address, max(decimals) AS decimals, array_agg(id) AS deposits, sum(amount) AS amount
        FROM here GROUP BY asset, address HAVING bool_or(is_booked) AND sum(amount) > 0
    ), short AS (
        SELECT deposit.asset, max(deposit.decimals) AS decimals, deposit.recipient AS address,
            array_agg(deposit.id) AS deposits, sum(deposit.amount - deposit.missing) - max(swept.total) AS amount
        FROM (
            SELECT line.payment_id, sweep.asset, sum(line."left") AS total
            FROM payments_sweptaddress AS line
            JOIN payments_sweep AS sweep ON sweep.id = line.sweep_id AND sweep.booked_at IS NOT NULL
            JOIN transfers_transfer AS transfer ON transfer.id = sweep.transfer_id
            WHERE transfer.environment = %(environment)s AND transfer.network = %(network)s
                AND transfer.height <= %(height)s
            GROUP BY line.payment_id, sweep.asset
        ) AS swept
        JOIN payments_deposit AS deposit ON deposit.payment_id = swept.payment_id AND deposit.asset = swept.asset
            AND deposit.network = %(network)s AND deposit.booked_to <> ''
        JOIN payments_sweep AS own ON own.id = deposit.sweep_id AND own.booked_at IS NOT NULL AND own.is_itemised
        JOIN transfers_transfer AS own_transfer ON own_transfer.id = own.transfer_id
        WHERE %(limit)s::int IS NULL AND deposit.asset = ANY(%(assets)s) AND own_transfer.height <= %(height)s
        GROUP BY deposit.payment_id, deposit.asset, deposit.recipient
        HAVING sum(deposit.amount - deposit.missing) > max(swept.total)
    ), missed AS (
        SELECT asset, address, max(decimals) AS decimals,
            coalesce(sum(amount) FILTER (WHERE status = 'open'), 0) AS open
        FROM losses_missingcoins
        WHERE environment = %(environment)s AND network = %(network)s AND asset = ANY(%(assets)s)
            AND status <> 'returned'
        GROUP BY asset, address
    ), candidate AS (
        SELECT asset, address, coalesce(present.decimals, short.decimals, missed.decimals) AS decimals,
            coalesce(present.deposits, '{}') || coalesce(short.deposits, '{}') AS deposits,
            coalesce(present.amount, 0) + coalesce(short.amount, 0) + coalesce(missed.open, 0) AS expected, missed.open,
            address || ' ' || asset AS place
        FROM present FULL JOIN short USING (asset, address) FULL JOIN missed USING (asset, address)
    ), chosen AS (
        (SELECT * FROM candidate WHERE open IS NULL AND place > %(after)s ORDER BY place LIMIT %(limit)s)
        UNION ALL
        SELECT * FROM candidate WHERE open IS NOT NULL
    )
    SELECT chosen.asset, chosen.decimals, chosen.address, payment.id, payment.merchant_id,
        chosen.deposits, chosen.expected, coalesce(chosen.open, 0), chosen.open IS NULL, chosen.place
    FROM chosen
    LEFT JOIN payments_offeredaddress AS offered ON offered.address = chosen.address AND offered.memo = ''
    LEFT JOIN LATERAL (
        SELECT own.id, own.merchant_id FROM payments_payment AS own WHERE own.deposit_address = chosen.address
        UNION SELECT own.id, own.merchant_id FROM payments_payment AS own WHERE own.id = offered.payment_id
    ) AS payment ON true
    ORDER BY chosen.open IS NOT NULL, chosen.place
"""


def compare(snapshot: WalletSnapshot, comparison: Comparison, *, since: datetime | None) -> Iterator[Holding]:
    """The addresses where ledger and network differ, or where something was missing before.

    All of them; with `since`, the next share of them. ChainError when the network does not answer.
    """
    cursor = ScanCursor.objects.filter(environment=snapshot.environment, network=snapshot.network).first()
    if cursor is None:
        return
    comparison.is_quick = since is not None
    height = min(snapshot.finalized_height, cursor.head_height)
    limit = ADDRESSES_OF_A_QUICK_RUN if comparison.is_quick else None
    gone = _on_their_way(snapshot, height)
    rolled = 0
    for some in _expected(snapshot, height, after=cursor.holdings_read_to if comparison.is_quick else "", limit=limit):
        taken = [replace(each, expected=each.expected - gone.get((each.asset, each.address), 0)) for each, *_ in some]
        for holding in _less_with_us(snapshot, list(_queried(snapshot, taken, height)), comparison, height):
            if holding.known_missing or holding.on_chain != holding.expected:
                yield holding
        for _, is_rolled, place in some:
            if is_rolled:
                rolled, comparison.read_to = rolled + 1, place
    if limit is None or rolled < limit:
        comparison.read_to = ""


def _expected(
    snapshot: WalletSnapshot, height: int, *, after: str, limit: int | None
) -> Iterator[list[tuple[Holding, bool, str]]]:
    """Expected holdings by the ledger, some at a time; with whether each stands in the round of all, and its place."""
    wanted: dict[str, Any] = {
        "environment": snapshot.environment,
        "network": snapshot.network,
        "assets": list(snapshot.chain.profile.assets),
        "height": height,
        "after": after,
        "limit": limit,
    }
    here = (snapshot.environment, snapshot.network)
    with connection.chunked_cursor() as cursor:
        cursor.execute(EXPECTED, wanted)
        while rows := cursor.fetchmany(ROWS_AT_A_TIME):
            yield [
                (Holding(*[*here, *whose, tuple(deposits), int(expected), int(known), height]), is_rolled, place)
                for *whose, deposits, expected, known, is_rolled, place in rows
            ]


def _on_their_way(snapshot: WalletSnapshot, height: int) -> Mapping[tuple[str, str], int]:
    """Amounts that sweeps which are not booked yet have taken from addresses up to the height."""
    codes = {asset.contract: code for code, asset in snapshot.chain.profile.assets.items()}
    unbooked = Envelope.objects.filter(
        transfer__environment=snapshot.environment,
        transfer__network=snapshot.network,
        transfer__purpose=TransferPurpose.SWEEP,
        transfer__sweep__booked_at__isnull=True,
    )
    gone: defaultdict[tuple[str, str], int] = defaultdict(int)
    for transaction_hash in unbooked.values_list("transaction_hash", flat=True):
        for move in snapshot.chain.reading.find_transfers(transaction_hash):
            if move.height <= height and move.contract in codes:
                gone[codes[move.contract], move.sender] += move.amount
    return gone


def _less_with_us(
    snapshot: WalletSnapshot, some: Sequence[Holding], comparison: Comparison, height: int
) -> Iterator[Holding]:
    """The same, without what came from there to wallets of ours by transactions that the ledger lacks, as after a
    restore: that is not missing, whatever the rows have. Queried only where more is missing than was known."""
    short = [each for each in some if each.missing > each.known_missing]
    if not short:
        yield from some
        return
    deposits = Deposit.objects.filter(pk__in=[key for each in short for key in each.deposits])
    first = deposits.aggregate(first=Min("height"))["first"] or 0
    with_us = gone_to_us(snapshot.environment, snapshot.chain, first_height=first, last_height=height)
    for each in some:
        less = min(each.missing, with_us.get((each.asset, each.address), 0))
        comparison.not_in_ledger += bool(less)
        yield replace(each, expected=each.expected - less)


def _queried(snapshot: WalletSnapshot, some: Iterable[Holding], height: int) -> Iterator[Holding]:
    by_asset: defaultdict[str, list[Holding]] = defaultdict(list)
    for holding in some:
        by_asset[holding.asset].append(holding)
    for code, holdings in by_asset.items():
        addresses = [holding.address for holding in holdings]
        held = snapshot.chain.reading.balances(addresses, snapshot.chain.profile.assets[code], at_height=height)
        yield from (replace(holding, on_chain=held.get(holding.address, 0)) for holding in holdings)
