"""Coins a sweep took from deposit addresses beyond the deposits known there: into suspense, as nobody saw them
arrive."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import structlog

from merchants.ledger.models import Stop
from merchants.ledger.posting import PostingDraft
from payments.chains import registry
from payments.chains.errors import ChainUnavailable
from payments.chains.protocol.transfers import IncomingTransfer
from payments.deposits.assessment_effects import hold
from payments.deposits.models import ScanCursor
from payments.deposits.postings import deposit_postings
from payments.deposits.recording import record_deposits
from payments.models import Deposit
from payments.states import DepositStatus, DiscrepancyKind
from payments.treasury.models import Sweep

logger = structlog.get_logger(__name__)


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
    held = [_hold_surplus(sweep, first[address], surplus) for address, surplus in _surplus(sweep, left).items()]
    return [draft for effects in held for draft in effects]


def _surplus(sweep: Sweep, left: Mapping[str, int]) -> dict[str, int]:
    """The excess of each address beyond its deposits, which are marked as swept with it."""
    transfer, height = sweep.transfer, sweep.transfer.height or 0
    at_addresses = Deposit.objects.filter(
        environment=transfer.environment, network=transfer.network, asset=sweep.asset, recipient__in=left
    )
    until = at_addresses.filter(height__lte=height)
    booked = until.filter(status=DepositStatus.CREDITED).exclude(booked_to="")
    # Another process is changing locked deposits: the sweep is then booked in a later round.
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
            raise ChainUnavailable("A deposit that the sweep took along is not in the ledger yet.")
    Deposit.objects.filter(pk__in=[each.pk for each in taken]).update(sweep=sweep)
    return surplus


def _require_read(environment: str, network: str, height: int) -> None:
    cursor = ScanCursor.objects.filter(environment=environment, network=network).first()
    is_halted = Stop.objects.halting().of_network(environment, network).exists()
    if cursor is None or is_halted or cursor.finalized_height < height:
        raise ChainUnavailable(f"{network} has not been read to the block of the sweep, {height}.")


def _hold_surplus(sweep: Sweep, transfer: IncomingTransfer, amount: int) -> list[PostingDraft]:
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
        said_by=list(transfer.said_by),
        is_surplus=True,
    )
    note = f"Nobody saw it arrive at {deposit.recipient}: a sweep brought so much more than was known there."
    effects = hold(deposit, DiscrepancyKind.UNASKED, note=note)
    drafts = deposit_postings(effects)
    record_deposits(effects)
    Deposit.objects.filter(pk=deposit.pk).update(sweep=sweep)
    logger.warning("surplus of a sweep held", deposit=str(deposit), recipient=deposit.recipient, units=amount)
    return drafts
