"""Bringing deposits to the hot wallet, many at a time, on networks where each payment has an address of its own.

A sweep empties whole addresses: what it moves is what the chain says in the end, not what was expected. Dust, which
costs more to move than it is worth, stays where it is until a payout waits for coins.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Count, OuterRef, Q, QuerySet, Sum
from django.utils import timezone

from config.celery import wake
from config.containment import contained
from config.errors import DomainError
from config.money import Asset
from merchants.ledger.posting import post_drafts
from payments import native, postings
from payments.chains import registry
from payments.chains.base import Costs, IncomingTransfer
from payments.chains.errors import ChainError, ChainUnavailable
from payments.dust import Fees, WaitingAddress
from payments.models import Deposit, ScanCursor, Sweep, SweepRequest
from payments.states import DepositStatus
from payments.strays import book_surplus
from payments.transfers.driving import sign_sweep
from payments.transfers.models import Payout, Transfer
from payments.transfers.payouts import retry_waiting
from payments.transfers.states import HoldReason, PayoutStatus, TransferStatus

logger = structlog.get_logger(__name__)

EMPTY_AFTER = timedelta(minutes=1)
"""A final sweep that shows no transfers for so long had nothing to move; until then a provider may be behind."""


class _TakenMeanwhile(Exception):
    """Somebody else has one of these deposits in hand: nothing of this sweep is stored."""


def sweep_due(environment: str, network: str) -> int:
    """Sign a sweep for every coin that has enough waiting, or that payouts wait for; answers how many."""
    profile = registry.profile(environment, network)
    cursor = ScanCursor.objects.filter(environment=environment, network=network, halted_at__isnull=True).first()
    if not profile.sweeps_per_transfer or cursor is None:
        return 0
    signed = 0
    for asset in profile.assets.values():
        place: dict[str, Any] = {"environment": environment, "network": network, "asset": asset.code}
        with contained("coin not swept", expected=(ChainError,), **place):
            signed += _sweep_coin(cursor, asset, most=profile.sweeps_per_transfer)
    return signed


def _sweep_coin(cursor: ScanCursor, asset: Asset, *, most: int) -> bool:
    """Sign a sweep of one coin when there is reason to; whether one was signed."""
    waiting = _not_swept(cursor, asset.code)
    _mark_taken_along(waiting)
    requests = SweepRequest.objects.filter(
        environment=cursor.environment, network=cursor.network, asset=asset.code, done_at__isnull=True
    )
    is_requested = requests.exists()
    chosen = _choose(cursor, asset, is_requested=is_requested, most=most)
    is_signed = bool(chosen) and _sign(cursor.environment, asset, waiting, chosen) is not None
    if is_requested and (is_signed or not chosen):
        requests.update(done_at=timezone.now())
    return is_signed


def request_sweep(*, environment: str, network: str, asset: str, requested_by: str) -> SweepRequest:
    """An operator wants what is worth it swept now, whatever the threshold. The next round of the worker does it."""
    request, _ = SweepRequest.objects.get_or_create(
        environment=environment,
        network=network,
        asset=asset,
        done_at=None,
        defaults={"requested_by": requested_by},
    )
    wake("payments.sweep")
    return request


def waiting_addresses(
    cursor: ScanCursor, code: str, *, holding: Q | None = None, most: int | None = None
) -> list[WaitingAddress]:
    """Where this coin waits to be swept, the fullest first. `holding` is a condition on the `total` at an address."""
    rows = (
        _not_swept(cursor, code)
        .order_by()
        .values_list("payment", "payment__sequence", "payment__deposit_count")
        .annotate(total=Sum("amount"))
        .filter(holding or Q())
        .order_by("-total", "payment")[:most]
    )
    several = [payment for payment, _, deposits, _ in rows if deposits > 1]
    emptied = set(
        Deposit.objects.filter(payment__in=several, network=cursor.network, sweep__moved__gt=0)
        .order_by()
        .values_list("payment", flat=True)
    )
    return [
        WaitingAddress(payment, sequence, int(total), payment not in emptied) for payment, sequence, _, total in rows
    ]


def addresses_worth_sweeping(cursor: ScanCursor, asset: Asset, fees: Fees) -> list[WaitingAddress]:
    """Those that are not dust, the fullest first. Dust gathers for years: it is passed over in the database."""
    new, emptied = (fees.most_dust(asset, is_new=is_new) for is_new in (True, False))
    holding = Q(total__gt=new) | Q(total__gt=emptied, payment__deposit_count__gt=1)
    found = waiting_addresses(cursor, asset.code, holding=holding)
    return [address for address in found if not fees.is_dust(address, asset)]


def all_that_waits(cursor: ScanCursor, code: str) -> tuple[int, int]:
    """At how many addresses this coin waits, and how much of it."""
    found = _not_swept(cursor, code).aggregate(addresses=Count("payment", distinct=True), total=Sum("amount"))
    return found["addresses"], int(found["total"] or 0)


def fees_now(environment: str, network: str) -> Fees:
    """What sweeping costs just now. Asks the network."""
    return fees_at(registry.chain(environment, network).costs(), registry.profile(environment, network).native)


def fees_at(costs: Costs, native: Asset) -> Fees:
    return Fees(costs, native, Decimal(settings.NATIVE_COIN_USD[native.code]))


def book_sweeps() -> int:
    """Book the sweeps that have ended; answers how many. One that cannot be booked yet is left for the next round."""
    ended = Sweep.objects.filter(booked_at__isnull=True, transfer__finished_at__isnull=False)
    booked = 0
    for sweep in ended.select_related("transfer__wallet").order_by("id"):
        # What it took along may be a deposit that is in no books yet.
        with contained("sweep not booked yet", expected=(ChainError, DomainError), transfer=str(sweep.transfer)):
            booked += native.book(sweep) if native.is_native(sweep) else _book(sweep, _moved_by(sweep))
    return booked


def _not_swept(cursor: ScanCursor, code: str) -> QuerySet[Deposit]:
    """Deposits in the books, in final blocks, at addresses that nothing has emptied since."""
    return Deposit.objects.filter(
        environment=cursor.environment,
        network=cursor.network,
        asset=code,
        status=DepositStatus.CREDITED,
        sweep__isnull=True,
        height__lte=cursor.finalized_height,
        payment__isnull=False,
    ).exclude(booked_to="")


def _mark_taken_along(waiting: QuerySet[Deposit]) -> None:
    """Deposits that arrived at an address before an earlier sweep emptied it went with that one."""
    earlier = Deposit.objects.filter(
        payment=OuterRef("payment"),
        network=OuterRef("network"),
        asset=OuterRef("asset"),
        sweep__moved__gt=0,
        sweep__transfer__height__gt=OuterRef("height"),
    )
    several = waiting.filter(payment__deposit_count__gt=1)
    for deposit in several.annotate(earlier=earlier.order_by("sweep").values("sweep")[:1]).exclude(earlier=None):
        Deposit.objects.filter(pk=deposit.pk, sweep__isnull=True).update(sweep=deposit.earlier)


def _is_needed(environment: str, asset: Asset) -> bool:
    waiting = Payout.objects.filter(environment=environment, network=asset.network, asset=asset.code)
    return waiting.filter(status=PayoutStatus.HELD, hold_reason=HoldReason.LIQUIDITY).exists()


def _choose(cursor: ScanCursor, asset: Asset, *, is_requested: bool, most: int) -> Sequence[WaitingAddress]:
    """The addresses to empty now. None while too little waits, or while it would cost more than it brings."""
    if _is_needed(cursor.environment, asset):
        return waiting_addresses(cursor, asset.code, most=most)
    enough = 0 if is_requested else settings.SWEEP_THRESHOLD * 10**asset.decimals
    _, total = all_that_waits(cursor, asset.code)
    if not total or total < enough:
        return []
    fees = fees_now(cursor.environment, asset.network)
    worth = addresses_worth_sweeping(cursor, asset, fees)
    if _sum(worth) < enough or not (is_requested or fees.are_paid_by(worth, asset)):
        return []
    return worth[:most]


def _sum(addresses: Sequence[WaitingAddress]) -> int:
    return sum(address.amount for address in addresses)


def _sign(
    environment: str, asset: Asset, waiting: QuerySet[Deposit], chosen: Sequence[WaitingAddress]
) -> Transfer | None:
    payments = [address.payment for address in chosen]
    taken = dict(waiting.filter(payment__in=payments).values_list("pk", "amount"))
    if not taken:
        return None

    def record(transfer: Transfer) -> None:
        sweep = Sweep.objects.create(transfer=transfer, asset=asset.code, expected=sum(taken.values()))
        # Never waits: a judge may hold the deposits of several payments, in an order of its own.
        free = waiting.select_for_update(skip_locked=True, of=("self",)).filter(pk__in=taken).values_list("pk")
        if len(free) != len(taken):
            raise _TakenMeanwhile
        Deposit.objects.filter(pk__in=taken).update(sweep=sweep)

    try:
        return sign_sweep(
            environment=environment,
            network=asset.network,
            asset=asset,
            sequences=[address.sequence for address in chosen],
            record=record,
        )
    except _TakenMeanwhile:
        return None


def _moved_by(sweep: Sweep) -> list[IncomingTransfer]:
    """The transfers of its coin that a sweep made, asked of the chain; none when it came to nothing."""
    transfer = sweep.transfer
    if transfer.status != TransferStatus.FINAL:
        return []
    found = registry.chain(transfer.environment, transfer.network).find_transfers(transfer.transaction_hash)
    if not found and transfer.finished_at and timezone.now() - transfer.finished_at < EMPTY_AFTER:
        raise ChainUnavailable(f"{transfer.network} does not show yet what {transfer.transaction_hash} moved.")
    contract = registry.asset(transfer.environment, transfer.network, sweep.asset).contract
    return [move for move in found if move.contract == contract]


def _book(sweep: Sweep, moves: Sequence[IncomingTransfer]) -> bool:
    """Book what arrived at the hot wallet, after what the addresses held beyond their deposits."""
    moved = sum(move.amount for move in moves if move.recipient == sweep.transfer.wallet.address)
    with transaction.atomic():
        sweep = Sweep.objects.select_for_update(of=("self",)).select_related("transfer").get(pk=sweep.pk)
        if sweep.booked_at is not None:
            return False
        sweep.moved, sweep.booked_at = moved, timezone.now()
        sweep.save(update_fields=["moved", "booked_at"])
        if moved:
            drafts = [*book_surplus(sweep, moves), postings.sweep_final(sweep)]
            post_drafts(drafts, environment=sweep.transfer.environment)
            place = {"environment": sweep.transfer.environment, "network": sweep.transfer.network}
            retry_waiting(**place, asset=sweep.asset)
        elif sweep.transfer.status != TransferStatus.FINAL:
            sweep.deposits.update(sweep=None)  # they are where they were: the next sweep takes them
    logger.info("sweep booked", transfer=str(sweep.transfer), asset=sweep.asset, moved=moved)
    return True
