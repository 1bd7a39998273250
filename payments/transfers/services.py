"""Every change of a transfer and a wallet, and what it means for the payouts. Nothing here talks to a network."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.db import transaction
from django.utils import timezone

from config.celery import wake
from config.money import Asset
from merchants.ledger.posting import PostingDraft, lock_accounts, post_drafts
from payments.chains.base import SignedTransfer
from payments.transfers import postings
from payments.transfers.models import Envelope, Payout, PayoutPolicy, Transfer, Wallet
from payments.transfers.payouts import (
    HELD_FOR,
    carry,
    end_payout,
    goes_first,
    hold_payout,
    lock_policy,
    lock_waiting,
    may_leave,
    policy_of,
    ready_again,
)
from payments.transfers.spending import Allowance
from payments.transfers.states import TRANSFER_MOVES, PayoutStatus, TransferPurpose, TransferStatus

logger = structlog.get_logger(__name__)

ATTEMPTS_MAX = 3
"""On-chain transactions that may fail for a payout before it is given up."""

RETRY_AFTER = timedelta(seconds=30)
"""Times the attempts made so far."""


@dataclass(frozen=True, slots=True)
class Mined:
    """Where a transfer stands for good, and what it cost in base units of the network's own coin."""

    transaction_hash: str
    height: int | None
    fee: int
    native: Asset


# --- transfers ---------------------------------------------------------------------------------------


def record_signed(wallet: Wallet, signed: SignedTransfer, *, payout_ids: Sequence[uuid.UUID]) -> Transfer | None:
    """Store a signed transfer before it is sent; None, and the bytes are forgotten, when the world has moved on.

    The caller holds the wallet. `payout_ids` are what it carries, in this order. The policy is asked once more under
    its lock, where nobody else can use up what is left of a limit: what exceeds one by now is held.
    """
    with transaction.atomic():
        policy = lock_policy(wallet.environment)
        wallet = Wallet.objects.select_for_update().get(pk=wallet.pk)
        payouts = lock_waiting(payout_ids)
        if payouts is None or not may_leave(policy, wallet.network) or not _may_sign(wallet, signed.sequence):
            return None
        if _hold_excess(policy, payouts):
            return None
        transfer = _insert(wallet, signed, Transfer(purpose=TransferPurpose.PAYOUT))
        carry(transfer, payouts)
        return transfer


def record_signed_sweep(
    wallet: Wallet,
    signed: SignedTransfer,
    *,
    asset: Asset,
    deposits: Sequence[int],
    record: Callable[[Transfer], None],
) -> Transfer | None:
    """As record_signed, for a sweep of an asset from deposit addresses; `record` writes what is swept beside it.

    The caller need not hold the wallet. None as well when the sequence was used meanwhile, or payouts have become due.
    """
    with transaction.atomic():
        policy = policy_of(wallet.environment)
        wallet = Wallet.objects.select_for_update().get(pk=wallet.pk)
        if not may_leave(policy, wallet.network) or not _may_sign(wallet, signed.sequence):
            return None
        if goes_first(wallet.environment, wallet.network):
            return None
        sweep = Transfer(purpose=TransferPurpose.SWEEP, asset=asset.code, deposits=list(deposits))
        transfer = _insert(wallet, signed, sweep)
        record(transfer)
        return transfer


def record_found(wallet: Wallet, sent: SignedTransfer, *, payout_ids: Sequence[uuid.UUID]) -> Transfer | None:
    """Take over an on-chain transaction of the wallet that has paid these payouts and that the books know nothing of;
    None when something of ours has its sequence, or one of them is on its way already. A frozen wallet is no hindrance.
    """
    with transaction.atomic():
        wallet = Wallet.objects.select_for_update().get(pk=wallet.pk)
        taken = Transfer.objects.filter(wallet=wallet, sequence=sent.sequence).exclude(status=TransferStatus.DEAD)
        payouts = lock_waiting(payout_ids)
        if payouts is None or taken.exists():
            return None
        found = Transfer(purpose=TransferPurpose.PAYOUT, status=TransferStatus.SENT, sent_at=timezone.now())
        transfer = _insert(wallet, sent, found)
        carry(transfer, payouts)
        return transfer


def record_replacement(transfer: Transfer, signed: SignedTransfer) -> bool:
    """Store another version of a transfer, before it is sent."""
    with transaction.atomic():
        transfer = Transfer.objects.select_for_update().get(pk=transfer.pk)
        if not transfer.is_open or signed.sequence != transfer.sequence:
            return False
        _add_envelope(transfer, signed)
        logger.info("transfer replaced", transfer=str(transfer), transaction_hash=signed.transaction_hash)
        return True


def record_sent(transfer: Transfer, *, next_step_at: datetime, error: str = "") -> None:
    """It was handed to the network, which said this or nothing: neither proves anything."""
    with transaction.atomic():
        transfer = Transfer.objects.select_for_update().get(pk=transfer.pk)
        if not transfer.is_open:
            return
        if transfer.status == TransferStatus.SIGNED:
            _move_transfer(transfer, TransferStatus.SENT)
            transfer.sent_at = timezone.now()
        transfer.send_count += 1
        transfer.next_step_at, transfer.last_error = next_step_at, error[:1000]
        transfer.save(update_fields=["status", "sent_at", "send_count", "next_step_at", "last_error"])


def postpone_transfer(transfer: Transfer, *, until: datetime, error: str | None = None) -> None:
    """Nothing new about it; ask again then."""
    changes: dict[str, object] = {"next_step_at": until}
    if error is not None:
        changes["last_error"] = error[:1000]
    Transfer.objects.filter(pk=transfer.pk, finished_at__isnull=True).update(**changes)


def record_final(transfer: Transfer, mined: Mined, *, arrived: Mapping[uuid.UUID, int]) -> Transfer:
    """It is in a block for good and the money moved: pay the payouts, and book what it cost.

    `arrived` is what each payout's recipient got, by the payout's key.
    InsufficientFunds, and nothing is kept, when the books do not have the coins in the hot wallet yet.
    """
    with transaction.atomic():
        transfer, payouts = _locked(transfer)
        if not transfer.is_open:
            return transfer
        for payout in payouts:
            payout.arrived = arrived[payout.pk]
        _post_with_fee(transfer, [draft for payout in payouts for draft in postings.payout_paid(payout)], mined)
        for payout in payouts:
            end_payout(payout, PayoutStatus.PAID)
        _end_transfer(transfer, TransferStatus.FINAL, mined)
        return transfer


def record_failed(transfer: Transfer, mined: Mined, *, error: str) -> Transfer:
    """It is in a block for good and moved nothing. Those that shared it are each sent alone now; one that was alone is
    tried again, and given up after `ATTEMPTS_MAX`."""
    with transaction.atomic():
        transfer, payouts = _locked(transfer)
        if not transfer.is_open:
            return transfer
        _post_with_fee(transfer, [], mined)
        for payout in payouts:
            if len(payouts) == 1 and payout.attempt_count >= ATTEMPTS_MAX:
                message = f"The network refused the transfer{f': {error}' if error else ''}."
                end_payout(payout, PayoutStatus.FAILED, code="transfer_failed", message=message[:300])
                continue
            payout.is_alone = True
            wait = RETRY_AFTER * payout.attempt_count if len(payouts) == 1 else timedelta()
            ready_again(payout, at=timezone.now() + wait)
        transfer.last_error = error[:1000]
        _end_transfer(transfer, TransferStatus.FAILED, mined)
        return transfer


def record_dead(transfer: Transfer) -> Transfer:
    """It can never be in a block: what it carried may be signed for again."""
    with transaction.atomic():
        transfer, payouts = _locked(transfer)
        if not transfer.is_open:
            return transfer
        for payout in payouts:
            ready_again(payout, at=timezone.now())
        _end_transfer(transfer, TransferStatus.DEAD)
        return transfer


def next_sequence(wallet: Wallet, expected_by_chain: int) -> int:
    """The sequence to sign for: after everything of ours that may still be mined, and after what the chain has seen."""
    live = Transfer.objects.filter(wallet=wallet).exclude(status=TransferStatus.DEAD).order_by("-sequence")
    last = live.values_list("sequence", flat=True).first()
    return max(expected_by_chain, 0 if last is None else last + 1)


# --- wallets -----------------------------------------------------------------------------------------


def freeze_wallet(wallet: Wallet, *, reason: str) -> None:
    """Sign nothing more until a person has looked. What is signed already is followed to its end."""
    frozen = Wallet.objects.filter(pk=wallet.pk, frozen_at__isnull=True)
    if frozen.update(frozen_at=timezone.now(), frozen_reason=reason):
        logger.critical("wallet frozen", wallet=str(wallet), reason=reason)


def catch_up(wallet: Wallet, *, next_sequence: int) -> None:
    """Write down that everything below this sequence is known. A wallet that is frozen stays so."""
    Wallet.objects.filter(pk=wallet.pk, next_sequence__lt=next_sequence).update(next_sequence=next_sequence)


def thaw_wallet(wallet: Wallet, *, next_sequence: int, thawed_by: str) -> None:
    """Let a wallet sign again, from a sequence that is not below any it has ever signed for."""
    with transaction.atomic():
        wallet = Wallet.objects.select_for_update().get(pk=wallet.pk)
        wallet.frozen_at, wallet.frozen_reason = None, ""
        wallet.next_sequence = max(wallet.next_sequence, next_sequence)
        wallet.save(update_fields=["frozen_at", "frozen_reason", "next_sequence"])
    logger.warning("wallet thawed", wallet=str(wallet), by=thawed_by)
    wake("transfers.drive")


# --- the parts ---------------------------------------------------------------------------------------


def _may_sign(wallet: Wallet, sequence: int) -> bool:
    live = Transfer.objects.filter(wallet=wallet, sequence__gte=sequence).exclude(status=TransferStatus.DEAD)
    return wallet.frozen_at is None and not live.exists()


def _hold_excess(policy: PayoutPolicy, payouts: Sequence[Payout]) -> bool:
    """Hold those of these, which the caller has locked, that are over a limit; whether there are any."""
    allowance = Allowance(policy)
    is_over = False
    for payout in payouts:
        reason = allowance.why_held(payout)
        if reason is None:
            allowance.take(payout)
        else:
            hold_payout(payout.pk, reason, until=timezone.now() + HELD_FOR)
            is_over = True
    return is_over


def _insert(wallet: Wallet, signed: SignedTransfer, transfer: Transfer) -> Transfer:
    """The transfer with its first version, in a wallet that the caller has locked."""
    transfer.wallet, transfer.environment, transfer.network = wallet, wallet.environment, wallet.network
    transfer.sequence = signed.sequence
    transfer.save(force_insert=True)
    _add_envelope(transfer, signed)
    wallet.next_sequence = max(wallet.next_sequence, signed.sequence + 1)
    wallet.save(update_fields=["next_sequence"])
    return transfer


def _add_envelope(transfer: Transfer, signed: SignedTransfer) -> None:
    Envelope.objects.create(
        transfer=transfer,
        raw=signed.raw,
        transaction_hash=signed.transaction_hash,
        fee_limit_units=signed.fee_limit_units,
        valid_until=signed.valid_until,
    )


def _locked(transfer: Transfer) -> tuple[Transfer, list[Payout]]:
    """The transfer and what it carries, locked in the order that everybody locks them: transfer, payouts by key."""
    transfer = Transfer.objects.select_for_update().get(pk=transfer.pk)
    carried = Payout.objects.select_for_update().filter(transfer=transfer, status=PayoutStatus.SENDING)
    return transfer, list(carried.order_by("pk"))


def _post_with_fee(transfer: Transfer, drafts: list[PostingDraft], mined: Mined) -> None:
    if mined.fee:
        touched = {line.account for draft in drafts for line in draft.lines} | postings.fee_accounts(mined.native)
        held = lock_accounts(touched, environment=transfer.environment)[postings.gas_account(mined.native)]
        drafts = [*drafts, postings.gas_paid(transfer, mined.native, fee=mined.fee, held=held)]
    if drafts:
        post_drafts(drafts, environment=transfer.environment)


def _move_transfer(transfer: Transfer, status: TransferStatus) -> None:
    TRANSFER_MOVES.check(transfer.status, status)
    transfer.status = status


def _end_transfer(transfer: Transfer, status: TransferStatus, mined: Mined | None = None) -> None:
    _move_transfer(transfer, status)
    if mined is not None:
        transfer.transaction_hash, transfer.height, transfer.fee_units = mined.transaction_hash, mined.height, mined.fee
    transfer.next_step_at, transfer.finished_at = None, timezone.now()
    transfer.save()
    logger.info("transfer ended", transfer=str(transfer), transaction_hash=transfer.transaction_hash)
