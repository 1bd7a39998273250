"""Bringing deposits to the hot wallet, many at a time, on networks where each payment has an address of its own.

A sweep empties whole addresses: what it moves is what the chain says in the end, not what was expected.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from config.money import Asset
from merchants.ledger.posting import InsufficientFunds, post_draft
from payments import postings
from payments.chains import registry
from payments.chains.base import ChainError
from payments.models import Deposit, Payment, ScanCursor, Sweep
from payments.states import DepositStatus
from payments.transfers.driving import sign_sweep
from payments.transfers.models import Payout, Transfer
from payments.transfers.states import HoldReason, PayoutStatus, TransferStatus

logger = structlog.get_logger(__name__)

DEPOSITS_CONSIDERED = 5_000


class _TakenMeanwhile(Exception):
    """Another sweep was faster with one of these deposits: nothing of this one is stored."""


def sweep_due(environment: str, network: str) -> int:
    """Sign a sweep for every coin that has enough waiting, or that payouts wait for; answers how many."""
    profile = registry.profile(environment, network)
    cursor = ScanCursor.objects.filter(environment=environment, network=network, halted_at__isnull=True).first()
    if not profile.sweeps_per_transfer or cursor is None:
        return 0
    signed = 0
    for asset in profile.assets.values():
        deposits = list(_not_swept(cursor, asset.code)[:DEPOSITS_CONSIDERED])
        if deposits and (_is_enough(deposits, asset) or _is_needed(environment, asset)):
            signed += _sign(environment, asset, deposits, limit=profile.sweeps_per_transfer) is not None
    return signed


def book_sweeps() -> int:
    """Book the sweeps that have ended; answers how many. One that cannot be booked yet is left for the next round."""
    ended = Sweep.objects.filter(booked_at__isnull=True, transfer__finished_at__isnull=False)
    booked = 0
    for sweep in ended.select_related("transfer__wallet").order_by("id"):
        try:
            booked += _book(sweep, _moved_by(sweep))
        except (ChainError, InsufficientFunds) as error:  # what it took along may be a deposit not judged yet
            logger.warning("sweep not booked yet", transfer=str(sweep.transfer), error=str(error))
    return booked


def _not_swept(cursor: ScanCursor, code: str) -> QuerySet[Deposit]:
    """Deposits in the books, in final blocks, that nothing has taken to the hot wallet; oldest first."""
    return Deposit.objects.filter(
        environment=cursor.environment,
        network=cursor.network,
        asset=code,
        status=DepositStatus.CREDITED,
        sweep__isnull=True,
        height__lte=cursor.finalized_height,
    ).order_by("id")


def _is_enough(deposits: Iterable[Deposit], asset: Asset) -> bool:
    return sum(int(deposit.amount) for deposit in deposits) >= int(settings.SWEEP_THRESHOLD * 10**asset.decimals)


def _is_needed(environment: str, asset: Asset) -> bool:
    waiting = Payout.objects.filter(environment=environment, network=asset.network, asset=asset.code)
    return waiting.filter(status=PayoutStatus.HELD, hold_reason=HoldReason.LIQUIDITY).exists()


def _sign(environment: str, asset: Asset, deposits: Sequence[Deposit], *, limit: int) -> Transfer | None:
    addresses = list(dict.fromkeys(deposit.recipient for deposit in deposits))[:limit]
    numbers = dict(
        Payment.objects.filter(environment=environment, deposit_address__in=addresses).values_list(
            "deposit_address", "sequence"
        )
    )
    taken = [deposit for deposit in deposits if deposit.recipient in numbers]

    def record(transfer: Transfer) -> None:
        expected = sum(deposit.amount for deposit in taken)
        sweep = Sweep.objects.create(transfer=transfer, asset=asset.code, expected=expected)
        keys = [deposit.pk for deposit in taken]
        if Deposit.objects.filter(pk__in=keys, sweep__isnull=True).update(sweep=sweep) != len(keys):
            raise _TakenMeanwhile

    try:
        return sign_sweep(
            environment=environment,
            network=asset.network,
            asset=asset,
            sequences=[numbers[address] for address in addresses if address in numbers],
            record=record,
        )
    except _TakenMeanwhile:
        return None


def _moved_by(sweep: Sweep) -> int:
    """What a sweep brought to the hot wallet, asked of the chain; nothing when it came to nothing."""
    transfer = sweep.transfer
    if transfer.status != TransferStatus.FINAL:
        return 0
    chain = registry.chain(transfer.environment, transfer.network)
    contract = registry.asset(transfer.environment, transfer.network, sweep.asset).contract
    return sum(
        move.amount
        for move in chain.find_transfers(transfer.transaction_hash)
        if (move.recipient, move.contract) == (transfer.wallet.address, contract)
    )


def _book(sweep: Sweep, moved: int) -> bool:
    with transaction.atomic():
        sweep = Sweep.objects.select_for_update(of=("self",)).select_related("transfer").get(pk=sweep.pk)
        if sweep.booked_at is not None:
            return False
        sweep.moved, sweep.booked_at = moved, timezone.now()
        sweep.save(update_fields=["moved", "booked_at"])
        if moved:
            post_draft(postings.sweep_final(sweep), environment=sweep.transfer.environment)
        elif sweep.transfer.status != TransferStatus.FINAL:
            sweep.deposits.update(sweep=None)  # they are where they were: the next sweep takes them
    logger.info("sweep booked", transfer=str(sweep.transfer), asset=sweep.asset, moved=moved)
    return True
