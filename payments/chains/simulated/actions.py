"""What can happen to a locked simulated network, at once or when scheduled: payments, reorgs, outages."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, NotRequired, TypedDict

from payments.chains.networks import NETWORKS
from payments.chains.recipients import account_of
from payments.chains.simulated.blocks import finalized_height, newest_stretch, next_sequences
from payments.chains.simulated.models import (
    SimulatedNetwork,
    SimulatedStatus,
    SimulatedTransaction,
    SimulatedTransfer,
)
from payments.chains.simulated.networks import address_from, mint
from payments.chains.stellar import addresses as stellar_addresses

Outcome = Literal["moved", "kept", "dropped", "replaced"]
"""What a reorg does to transactions: mined again in the next block; at the same height of the new branch;
forgotten, though the same bytes may be sent again; or beaten by another one of the same sender and sequence.
"""

Action = Literal["pay", "reorg", "outage"]
"""What can be scheduled."""

TEXT_MEMO_BYTES = 28


class ReorgTooDeep(ValueError):
    """The reorg would undo a final block, which only a forced one may."""


class Movement(TypedDict):
    """One transfer of a token to someone, spelled as the network reports it."""

    contract: str
    amount: int
    recipient: str
    memo: str
    muxed_id: NotRequired[str]
    transaction_memo: NotRequired[str]


def movement(network: str, *, contract: str, amount: int, recipient: str, memo: str | None = None) -> Movement:
    """A movement as the network reports it: an account, and one reference, whether it came as memo or muxed id.

    InvalidAddress or ValueError for what no network would carry.
    """
    if amount < 0:
        raise ValueError("nobody can send less than nothing")
    if memo is not None and not NETWORKS[network].real.takes_memos:
        raise ValueError(f"{network} knows no memos")
    if len((memo or "").encode()) > TEXT_MEMO_BYTES:
        raise ValueError(f"a text memo has at most {TEXT_MEMO_BYTES} bytes")
    account, identifier = split_address(network, recipient)
    text = stellar_addresses.normalise_memo(memo) or ""
    if identifier is None:
        return Movement(contract=contract, amount=amount, recipient=account, memo=text, transaction_memo=text)
    muxed = str(identifier)
    return Movement(
        contract=contract, amount=amount, recipient=account, memo=muxed, muxed_id=muxed, transaction_memo=text
    )


def split_address(network: str, address: str) -> tuple[str, int | None]:
    """The account behind an address, and the muxed id it may carry."""
    return account_of(NETWORKS[network].real, address)


def pay(row: SimulatedNetwork, *, movements: Sequence[Movement], sender: str | None = None) -> str:
    """Put one on-chain transaction with these transfers in front of the next block; its hash.

    The payer, a new one unless named, is given the money first: it can always pay.
    """
    payer, identifier = split_address(row.network, sender or address_from(row.network, os.urandom(32)))
    wanted: dict[str, int] = defaultdict(int)
    for part in movements:
        wanted[part["contract"]] += part["amount"]
    granted = [movement(row.network, contract=name, amount=amount, recipient=payer) for name, amount in wanted.items()]
    fund(row, movements=granted)
    sequence = next_sequences(row.network, [payer], pending=True)[payer]
    muxed = "" if identifier is None or sender is None else sender
    return submit(row, sender=payer, sequence=sequence, movements=movements, source_muxed=muxed)


def fund(row: SimulatedNetwork, *, movements: Sequence[Movement]) -> str:
    """Make money that did not exist before; the hash of the on-chain transaction."""
    return submit(row, sender=mint(row.network), sequence=None, movements=movements)


def submit(
    row: SimulatedNetwork,
    *,
    sender: str,
    sequence: int | None,
    movements: Sequence[Movement],
    transaction_hash: str | None = None,
    source: str = "",
    source_muxed: str = "",
    **properties: Any,
) -> str:
    """Let an on-chain transaction wait for the next block.

    Its transfers leave from the sender unless another `source` is named; `properties` are further columns of it.
    """
    waiting = SimulatedTransaction.objects.create(
        network=row.network,
        transaction_hash=transaction_hash or new_hash(row.network),
        sender=sender,
        sequence=sequence,
        **properties,
    )
    SimulatedTransfer.objects.bulk_create(
        SimulatedTransfer(
            transaction=waiting, ordinal=ordinal, source=source or sender, source_muxed=source_muxed, **part
        )
        for ordinal, part in enumerate(movements)
    )
    return waiting.transaction_hash


def reorg(
    row: SimulatedNetwork,
    *,
    depth: int,
    outcome: Outcome = "moved",
    only: Collection[str] | None = None,
    force: bool = False,
) -> None:
    """Replace the newest `depth` blocks by others with the same times.

    With `only`, the outcome is for these transaction hashes; all others are moved.
    """
    first = row.height - depth + 1
    if depth < 1 or first < 1:
        raise ReorgTooDeep(f"{row.network} has {row.height} blocks that can be replaced, not {depth}.")
    if first <= finalized_height(row) and not force:
        raise ReorgTooDeep(f"The block at height {finalized_height(row)} of {row.network} is final.")

    _give_new_hashes(row, first)
    undone = SimulatedTransaction.objects.filter(network=row.network, height__gte=first)
    if only is not None:
        _undo(row, list(undone.exclude(transaction_hash__in=only)), "moved")
        undone = undone.filter(transaction_hash__in=only)
    _undo(row, list(undone), outcome)


def outage(row: SimulatedNetwork, *, seconds: float) -> None:
    """Nobody answers for so long, counted from the head's time; blocks go on appearing meanwhile."""
    row.outage_until = newest_stretch(row).closed_at(row.height) + timedelta(seconds=seconds)
    row.save(update_fields=["outage_until"])


def new_hash(network: str) -> str:
    return NETWORKS[network].real.hash_prefix + os.urandom(32).hex()


ACTIONS: Mapping[Action, Callable[..., object]] = {"pay": pay, "reorg": reorg, "outage": outage}


def perform(row: SimulatedNetwork, action: Action, arguments: dict[str, Any]) -> None:
    """Do what was scheduled. A reorg that has become too deep meanwhile is left out."""
    try:
        ACTIONS[action](row, **arguments)
    except ReorgTooDeep:
        return


def _give_new_hashes(row: SimulatedNetwork, first: int) -> None:
    """Split the stretch that reaches over `first`, then give every block from there on another generation."""
    row.generation += 1
    row.save(update_fields=["generation"])
    reached = row.stretches.filter(first_height__lte=first).order_by("-first_height")[0]
    if reached.first_height < first:
        row.stretches.create(
            first_height=first,
            started_at=reached.closed_at(first),
            block_seconds=reached.block_seconds,
            generation=row.generation,
        )
    row.stretches.filter(first_height__gte=first).update(generation=row.generation)


def _undo(row: SimulatedNetwork, undone: list[SimulatedTransaction], outcome: Outcome) -> None:
    if outcome == "kept":
        return
    swept = [entry.pk for entry in undone if entry.swept_addresses]
    SimulatedTransfer.objects.filter(transaction__in=swept).delete()  # the next block records what there is to sweep
    minted = [entry.pk for entry in undone if entry.sequence is None]
    others = [entry for entry in undone if entry.sequence is not None]
    moved = SimulatedTransaction.objects.filter(pk__in=[entry.pk for entry in others])
    if outcome == "moved":
        moved.update(status=SimulatedStatus.PENDING, height=None, error="", fee_units=0)
    else:
        moved.update(status=SimulatedStatus.DROPPED, height=None, error="undone by a reorganisation", fee_units=0)
    # Money that was made is made again whatever happens, so that its payer can be beaten but never broke.
    SimulatedTransaction.objects.filter(pk__in=minted).update(status=SimulatedStatus.PENDING, height=None, error="")
    if outcome == "replaced":
        for entry in others:
            kept_back = [
                movement(row.network, contract=part.contract, amount=part.amount, recipient=entry.sender)
                for part in entry.transfers.all()
            ]
            submit(row, sender=entry.sender, sequence=entry.sequence, movements=kept_back)
