"""Books the real moves of a sweep, from its receipt, address by address; what it left is free again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

import structlog
from django.db import transaction
from django.db.models import QuerySet, Sum
from django.utils import timezone

from config.errors import DomainError
from config.money import Asset
from config.periodic.containment import contained
from merchants.ledger.posting import PostingDraft, post_drafts
from payments.chains import registry
from payments.chains.errors import ChainError, ChainUnavailable
from payments.chains.protocol.chain import Chain, sweeps_of
from payments.chains.protocol.sweeps import SweptFrom, Unsweepable
from payments.chains.protocol.transfers import IncomingTransfer
from payments.models import Deposit, Payment
from payments.transfers.models import Transfer, Wallet
from payments.transfers.payouts import retry_waiting
from payments.transfers.states import TransferStatus
from payments.treasury import native_deposits, postings, sweep_failures
from payments.treasury.cold import cold_wallets
from payments.treasury.models import ColdWallet, Sweep, SweepRequest, SweptAddress
from payments.treasury.unrecorded_coins import book_surplus

logger = structlog.get_logger(__name__)

UNBOOKED_MAX = timedelta(minutes=10)
"""Time a finished sweep may wait to be booked before an alarm."""


class SweptElsewhere(DomainError):
    code = "swept_elsewhere"
    message = "Coins left deposit addresses and came to no wallet of ours: see who is the factory's treasury."


class DepositsInUse(DomainError):
    code = "deposits_in_use"
    message = "Somebody is just changing deposits of this sweep."


def book_sweeps() -> int:
    """Book the sweeps that have ended; returns how many. One that cannot be booked yet is left for the next round."""
    ended = Sweep.objects.filter(booked_at__isnull=True, transfer__finished_at__isnull=False)
    booked = 0
    for sweep in ended.select_related("transfer__wallet").order_by("id"):
        # It may have moved a deposit that is not in the ledger yet.
        with contained("sweep not booked yet", expected=(ChainError, DomainError), transfer=str(sweep.transfer)):
            booked += _try(sweep)
    return booked


def sweeps_not_booked(environments: Collection[str], network: str | None) -> QuerySet[Sweep]:
    """Finished sweeps whose booking is overdue."""
    here = Sweep.objects.filter(booked_at__isnull=True, transfer__environment__in=environments)
    if network is not None:
        here = here.filter(transfer__network=network)
    return here.filter(transfer__finished_at__lt=timezone.now() - UNBOOKED_MAX).select_related("transfer")


def _try(sweep: Sweep) -> bool:
    try:
        return native_deposits.book(sweep) if native_deposits.is_native(sweep) else _book(sweep)
    except Exception as error:
        Sweep.objects.filter(pk=sweep.pk).update(last_error=str(error)[:1000])
        raise


def _book(sweep: Sweep) -> bool:
    outcomes, cold = _read(sweep)
    moves = _moves(sweep) if any(each.left for each in outcomes) else []
    return _write_down(sweep, outcomes, cold, moves, _refusals(sweep, outcomes))


def book_found(sweep: Sweep, moves: Sequence[IncomingTransfer], numbers: Mapping[str, int]) -> bool:
    """Book a sweep whose moves are all known; `numbers` are those of its addresses. Sends no query."""
    place = {"environment": sweep.transfer.environment, "network": sweep.transfer.network}
    cold = ColdWallet.objects.filter(**place, address=moves[0].recipient).first()
    outcomes: dict[int, SweptFrom] = {}
    for each in moves:
        earlier = outcomes.get(numbers[each.sender], SweptFrom(numbers[each.sender]))
        left, arrived = earlier.left + each.amount + each.token_fee, earlier.arrived + each.amount
        outcomes[earlier.number] = SweptFrom(earlier.number, left, arrived)
    return _write_down(sweep, list(outcomes.values()), cold, moves, {})


def _write_down(
    sweep: Sweep,
    outcomes: Sequence[SweptFrom],
    cold: ColdWallet | None,
    moves: Sequence[IncomingTransfer],
    refused: Mapping[int, Unsweepable],
) -> bool:
    with transaction.atomic():
        sweep = Sweep.objects.select_for_update(of=("self",)).select_related("transfer").get(pk=sweep.pk)
        if sweep.booked_at is not None:
            return False
        lines = _lines(sweep, outcomes)
        passed = [line for line in lines if not line.left]
        _release(sweep, None if not outcomes else passed)
        _follow_on(sweep, passed, refused)
        SweptAddress.objects.bulk_create(lines)
        sweep.moved = sum(each.arrived for each in outcomes)
        sweep.booked_at, sweep.is_itemised, sweep.last_error = timezone.now(), True, ""
        sweep.cold_wallet = cold
        sweep.save(update_fields=["moved", "cold_wallet", "booked_at", "is_itemised", "last_error"])
        if sweep.moved:
            drafts = [*book_surplus(sweep, moves), postings.sweep_final(sweep), *_fees(sweep, outcomes)]
            post_drafts(drafts, environment=sweep.transfer.environment)
            place = {"environment": sweep.transfer.environment, "network": sweep.transfer.network}
            retry_waiting(**place, asset=sweep.asset)
        SweepRequest.objects.filter(sweep=sweep).update(outcome=_outcome(sweep, lines))
    if passed:
        logger.error("deposit addresses passed over", sweep=str(sweep.transfer), addresses=_left(passed))
    logger.info("sweep booked", transfer=str(sweep.transfer), asset=sweep.asset, moved=sweep.moved)
    return True


# --- queries to the network, outside of any database transaction -----------------------------------------


def _read(sweep: Sweep) -> tuple[Sequence[SweptFrom], ColdWallet | None]:
    """The moves at each address, none when it never was in a block; and the cold wallet it brought the coins to.

    Whichever wallet of ours was the treasury in its block: that can change on the way. ChainUnavailable while its
    receipt is not shown, SweptElsewhere when the coins went to somebody else.
    """
    transfer = sweep.transfer
    if transfer.status == TransferStatus.FAILED:
        return [SweptFrom(number) for number in transfer.deposits], None
    if transfer.status != TransferStatus.FINAL:
        return [], None
    chain, asset = _place(sweep)
    numbers = list(transfer.deposits)
    for address, cold in _treasuries(transfer, chain):
        found = sweeps_of(chain).swept_by(transfer.transaction_hash, asset, numbers, treasury=address)
        if not found:
            raise ChainUnavailable(f"{transfer.network} does not show yet what {transfer.transaction_hash} moved.")
        if not any(each.left and not each.arrived for each in found):
            return found, cold
    raise SweptElsewhere


def _treasuries(transfer: Transfer, chain: Chain) -> list[tuple[str, ColdWallet | None]]:
    """The wallets of ours that a sweep may have gone to, the likeliest first."""
    place = {"environment": transfer.environment, "network": transfer.network}
    hot = dict.fromkeys([transfer.wallet.address, *Wallet.objects.filter(**place).values_list("address", flat=True)])
    ours = [*((address, None) for address in hot), *((each.address, each) for each in cold_wallets(**place))]
    return sorted(ours, key=lambda each: each[0] != chain.treasury())


def _moves(sweep: Sweep) -> list[IncomingTransfer]:
    """The transfers of its coin that a sweep made."""
    chain, asset = _place(sweep)
    found = chain.reading.find_transfers(sweep.transfer.transaction_hash)
    return [move for move in found if move.contract == asset.contract]


def _refusals(sweep: Sweep, outcomes: Sequence[SweptFrom]) -> Mapping[int, Unsweepable]:
    """The reasons nothing left the skipped addresses, as far as the network reports them now."""
    passed = [each.number for each in outcomes if not each.left]
    chain, asset = _place(sweep)
    return sweeps_of(chain).why_unsweepable(asset, passed) if passed else {}


def _place(sweep: Sweep) -> tuple[Chain, Asset]:
    environment, network = sweep.transfer.environment, sweep.transfer.network
    return registry.chain(environment, network), registry.asset(environment, network, sweep.asset)


# --- writing it down, with the sweep locked -------------------------------------------------------------


def _lines(sweep: Sweep, outcomes: Sequence[SweptFrom]) -> list[SweptAddress]:
    """One for each address, before anything is released."""
    found = Payment.objects.filter(sequence__in=[each.number for each in outcomes])
    payments = {payment.sequence: payment for payment in found.only("id", "sequence", "deposit_address")}
    expected = dict(sweep.deposits.order_by().values_list("payment").annotate(Sum("amount")))
    return [
        SweptAddress(
            sweep=sweep,
            payment=payments[each.number],
            expected=int(expected.get(payments[each.number].pk, 0)),
            left=each.left,
            arrived=each.arrived,
            was_refused=each.refused,
        )
        for each in outcomes
        if each.number in payments  # a payment that a restored database lacks has none: its coins are in suspense
    ]


def _release(sweep: Sweep, passed: Sequence[SweptAddress] | None) -> None:
    """Free the deposits at the addresses that it passed over, or all of them; DepositsInUse when one is locked."""
    theirs = sweep.deposits.all()
    if passed is not None:
        theirs = theirs.filter(payment__in=[line.payment_id for line in passed])
    keys = list(theirs.values_list("pk", flat=True))
    # Never waits: an assessment may hold locks on the deposits of several payments, in another order.
    free = Deposit.objects.select_for_update(skip_locked=True).filter(pk__in=keys).order_by("pk").values_list("pk")
    if len(free) != len(keys):
        raise DepositsInUse
    Deposit.objects.filter(pk__in=keys).update(sweep=None)


def _follow_on(sweep: Sweep, passed: Sequence[SweptAddress], refused: Mapping[int, Unsweepable]) -> None:
    """End what earlier sweeps left to be tried again at these addresses, and schedule the skipped ones."""
    earlier = SweptAddress.objects.filter(
        payment__sequence__in=sweep.transfer.deposits,
        sweep__asset=sweep.asset,
        sweep__transfer__network=sweep.transfer.network,
    )
    newest = {line.payment_id: line for line in earlier.order_by("pk")}
    SweptAddress.objects.filter(pk__in=[line.pk for line in newest.values()]).update(try_again_at=None)
    for line in passed:
        before = newest.get(line.payment_id)
        if line.expected:
            line.tries = before.tries if before and not before.left else 0
            sweep_failures.note_refusal(line, refused.get(line.payment.sequence))


def _fees(sweep: Sweep, outcomes: Sequence[SweptFrom]) -> list[PostingDraft]:
    kept = sum(each.left - each.arrived for each in outcomes)
    return [postings.sweep_fee(sweep, kept)] if kept else []


def _outcome(sweep: Sweep, lines: Sequence[SweptAddress]) -> str:
    """The moves of a sweep and the addresses it skipped, for the operator who requested it."""
    if not lines:
        return "The sweep never came into a block: everything is where it was, and is swept again."
    taken = [line for line in lines if line.left]
    passed = [line for line in lines if line.try_again_at is not None]
    took = f"Took {sweep.coins(sweep.moved or 0)} from {_addresses(len(taken))}."
    return f"{took} Left: {_left(passed)}." if passed else took


def _left(passed: Sequence[SweptAddress]) -> str:
    return sweep_failures.describe_all([line for line in passed if line.try_again_at is not None])


def _addresses(number: int) -> str:
    return f"{number:,} address{'' if number == 1 else 'es'}"
