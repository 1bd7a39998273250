"""Money at addresses of ours that nobody had asked for: sent before its payment existed, or found only by a sweep."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache

import structlog
from django.db import connection, transaction

from config import ids
from config.containment import contained
from merchants.ledger.posting import PostingDraft, post_drafts
from payments.chains import registry
from payments.chains.base import DepositAddress, IncomingTransfer
from payments.chains.errors import ChainUnavailable
from payments.chains.networks import SHARED_WALLETS
from payments.changes import Changes, hold_deposit
from payments.models import Deposit, Payment, ScanCursor, Sweep
from payments.reversing import reverse_held
from payments.states import DepositStatus, DiscrepancyKind

logger = structlog.get_logger(__name__)

CLOCKS_APART = timedelta(seconds=60)
"""How much older than its payment a block may look: it names the time it was begun at, and clocks differ."""

LOOK_AHEAD = 200
"""So many addresses are watched before a payment has them. Their numbers are consecutive: anybody can compute them."""

_STEP = 100
"""How many numbers go by until their addresses are computed anew."""


def is_older(block_time: datetime, payment_id: uuid.UUID) -> bool:
    """Whether a transfer was on the chain before the payment existed. It cannot have been meant for it."""
    return block_time < ids.created_at_of(payment_id) - CLOCKS_APART


def next_addresses(environment: str, network: str) -> frozenset[str]:
    """The addresses that the next payments will have; none where all payments share one."""
    if network in SHARED_WALLETS:
        return frozenset()
    with connection.cursor() as cursor:
        cursor.execute("SELECT last_value FROM payments_deposit_sequence")
        [last] = cursor.fetchone()
    return _addresses_from(registry.chain(environment, network).deposit_address, last // _STEP * _STEP)


@lru_cache(maxsize=16)
def _addresses_from(address_of: Callable[[int], DepositAddress], first: int) -> frozenset[str]:
    numbers = range(first + 1, first + _STEP + LOOK_AHEAD + 1)
    return frozenset(address_of(number).address for number in numbers)


def book_strays(environment: str, network: str, *, limit: int = 200) -> int:
    """Book deposits that belong to no payment once they are final: they wait for a person. Returns how many."""
    cursor = ScanCursor.objects.filter(environment=environment, network=network, halted_at__isnull=True).first()
    if cursor is None:
        return 0
    strays = Deposit.objects.filter(environment=environment, network=network, payment__isnull=True)
    final = strays.filter(status=DepositStatus.SEEN, height__lte=cursor.finalized_height)
    undone = strays.exclude(booked_to="").exclude(status=DepositStatus.CREDITED)
    due = [*final.values_list("pk", flat=True)[:limit], *undone.values_list("pk", flat=True)[:limit]]
    booked = 0
    for deposit_id in due:
        with contained("deposit of no payment could not be booked", deposit=str(deposit_id)), transaction.atomic():
            deposit = Deposit.objects.select_for_update().get(pk=deposit_id)
            changes = Changes()
            if deposit.booked_to and deposit.status != DepositStatus.CREDITED:
                reverse_held(deposit, None, {}, changes)
            elif deposit.status == DepositStatus.SEEN:
                kind, note = _reason(deposit)
                hold_deposit(deposit, None, kind, changes, note=note)
                logger.warning("stray deposit held", deposit=str(deposit), kind=kind, recipient=deposit.recipient)
            if changes.drafts:
                post_drafts(changes.drafts, environment=environment)
            booked += 1
    return booked


def _reason(deposit: Deposit) -> tuple[DiscrepancyKind, str]:
    """Why a deposit belongs to no payment, as a kind and in words."""
    there = Payment.objects.filter(
        environment=deposit.environment, deposit_address=deposit.recipient, memo=deposit.memo
    ).first()
    if there is not None and is_older(deposit.first_block_time, there.pk):
        sent = f"{deposit.first_block_time:%Y-%m-%d %H:%M:%S}"
        return DiscrepancyKind.UNASKED, f"Sent at {sent}, before {there.public_id} existed, which has this address."
    if deposit.network in SHARED_WALLETS:
        return DiscrepancyKind.NO_MEMO, ""
    return DiscrepancyKind.UNASKED, "Sent to an address of ours that no payment had yet."


# What a sweep brought along


def book_surplus(sweep: Sweep, moved: Iterable[IncomingTransfer]) -> list[PostingDraft]:
    """Take what a final sweep moved beyond the deposits at its addresses into suspense. Returns the postings.

    `moved` are its transfers of the coin. Nobody saw that money arrive: it came before its address was watched, or
    after. The caller holds the sweep locked. ChainUnavailable while a deposit that explains it may still be booked.
    """
    left: defaultdict[str, int] = defaultdict(int)
    first: dict[str, IncomingTransfer] = {}
    for transfer in moved:
        left[transfer.sender] += transfer.amount
        first.setdefault(transfer.sender, transfer)
    changes = Changes()
    for address, surplus in _surplus(sweep, left).items():
        changes.drafts += _hold_surplus(sweep, first[address], surplus).drafts
    return changes.drafts


def _surplus(sweep: Sweep, left: Mapping[str, int]) -> dict[str, int]:
    """What left each address beyond its deposits, which are marked as swept with it."""
    transfer, height = sweep.transfer, sweep.transfer.height or 0
    at_addresses = Deposit.objects.filter(
        environment=transfer.environment, network=transfer.network, asset=sweep.asset, recipient__in=left
    )
    until = at_addresses.filter(height__lte=height)
    booked = until.filter(status=DepositStatus.CREDITED).exclude(booked_to="")
    # Locked deposits are another's work of just now: the sweep then waits for its next turn.
    free = list(booked.filter(sweep__isnull=True).select_for_update(skip_locked=True, of=("self",)).order_by("id"))
    mine = list(booked.filter(sweep=sweep))
    surplus: dict[str, int] = {}
    taken: list[Deposit] = []
    for address, amount in left.items():
        here = [deposit for deposit in free if deposit.recipient == address]
        before = [deposit for deposit in here if deposit.height < height]
        rest = amount - sum(int(each.amount) for each in (*mine, *before) if each.recipient == address)
        taken += before
        for deposit in (each for each in here if each.height == height):
            if deposit.amount <= rest:  # it stood in the sweep's own block, before it
                rest -= int(deposit.amount)
                taken.append(deposit)
        if rest > 0:
            surplus[address] = rest
    if surplus:
        _require_read(transfer.environment, transfer.network, height)
        waiting = until.filter(recipient__in=surplus, sweep__isnull=True).exclude(status=DepositStatus.ORPHANED)
        if waiting.exclude(pk__in=[each.pk for each in taken]).exists():
            raise ChainUnavailable("A deposit that the sweep took along is not in the books yet.")
    Deposit.objects.filter(pk__in=[each.pk for each in taken]).update(sweep=sweep)
    return surplus


def _require_read(environment: str, network: str, height: int) -> None:
    cursor = ScanCursor.objects.filter(environment=environment, network=network).first()
    if cursor is None or cursor.halted_at is not None or cursor.finalized_height < height:
        raise ChainUnavailable(f"{network} has not been read to the block of the sweep, {height}.")


def _hold_surplus(sweep: Sweep, transfer: IncomingTransfer, amount: int) -> Changes:
    asset = registry.asset(sweep.transfer.environment, sweep.transfer.network, sweep.asset)
    deposit = Deposit.objects.create(
        environment=sweep.transfer.environment,
        network=sweep.transfer.network,
        transaction_hash=transfer.transaction_hash,
        ordinal=transfer.ordinal,
        contract=asset.contract,
        asset=asset.code,
        decimals=asset.decimals,
        amount=amount,
        recipient=transfer.sender,
        height=transfer.height,
        block_hash=transfer.block_hash,
        block_time=transfer.block_time,
        first_block_time=transfer.block_time,
        is_surplus=True,
    )
    changes = Changes()
    note = f"Nobody saw it arrive at {deposit.recipient}: a sweep brought so much more than was known there."
    hold_deposit(deposit, None, DiscrepancyKind.UNASKED, changes, note=note)
    Deposit.objects.filter(pk=deposit.pk).update(sweep=sweep)
    logger.warning("surplus of a sweep held", deposit=str(deposit), recipient=deposit.recipient, units=amount)
    return changes


class Surpluses:
    """What sweeps took in without having seen it arrive: its own transfers must not be booked a second time."""

    def __init__(self, environment: str, network: str, recipients: Iterable[str]) -> None:
        rows = Deposit.objects.filter(
            environment=environment, network=network, is_surplus=True, recipient__in=set(recipients)
        ).exclude(status=DepositStatus.ORPHANED)
        self._until: dict[tuple[str, str], int] = {}
        for recipient, contract, height in rows.values_list("recipient", "contract", "height"):
            known = self._until.get((recipient, contract), 0)
            self._until[recipient, contract] = max(known, height)

    def cover(self, transfer: IncomingTransfer) -> bool:
        """Whether a transfer that no deposit was made of went with a sweep whose surplus is in the books."""
        return transfer.height <= self._until.get((transfer.recipient, transfer.contract), -1)
