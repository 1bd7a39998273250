"""Every change of a payout, a transfer and a wallet. Nothing here talks to a network."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.db import connection, transaction
from django.utils import timezone

from config.celery import wake
from config.errors import DomainError, InvalidParameter
from config.money import Asset
from merchants.ledger.posting import PostingDraft, lock_accounts, post_drafts
from merchants.models import User
from payments.chains.base import SignedTransfer
from payments.transfers import postings
from payments.transfers.models import (
    Envelope,
    Payout,
    PayoutApproval,
    PayoutPolicy,
    Transfer,
    TransferLine,
    Wallet,
)
from payments.transfers.states import (
    PAYOUT_MOVES,
    TRANSFER_MOVES,
    HoldReason,
    PayoutStatus,
    TransferPurpose,
    TransferStatus,
)

logger = structlog.get_logger(__name__)

ATTEMPTS_MAX = 3
"""On-chain transactions that may fail for a payout before it is given up."""

RETRY_AFTER = timedelta(seconds=30)
"""Times the attempts made so far."""


class PayoutNotCancellable(DomainError):
    code = "payout_not_cancellable"
    message = "This is on its way already, and cannot be called back."


class PayoutNotHeld(DomainError):
    code = "payout_not_held"
    message = "Only a payout that is held can be approved or rejected."


class AlreadyApproved(DomainError):
    code = "already_approved"
    message = "You have approved this already. Somebody else must."


@dataclass(frozen=True, slots=True)
class Mined:
    """Where a transfer stands for good, and what it cost in base units of the network's own coin."""

    transaction_hash: str
    height: int | None
    fee: int
    native: Asset


# --- payouts -----------------------------------------------------------------------------------------


def policy_of(environment: str) -> PayoutPolicy:
    return PayoutPolicy.objects.get_or_create(environment=environment)[0]


def request_payout(
    *,
    id: uuid.UUID,
    environment: str,
    merchant_id: uuid.UUID,
    reference: str,
    asset: Asset,
    amount: int,
    recipient: str,
    memo: str = "",
) -> Payout:
    """Have somebody paid. Inside the database transaction that has reserved the money in `payout_account` of the id.

    `reference` is the public id of what it is for, and can have one payout only.
    """
    _require_transaction()
    reserved = postings.payout_account(asset.network, asset.code, id)
    held = lock_accounts([reserved], environment=environment)[reserved]
    if held != amount:
        raise RuntimeError(f"{reference}: {held} is reserved for a payout of {amount}")
    payout = Payout.objects.create(
        id=id,
        environment=environment,
        merchant_id=merchant_id,
        reference=reference,
        network=asset.network,
        asset=asset.code,
        decimals=asset.decimals,
        amount=amount,
        recipient=recipient,
        memo=memo,
    )
    wake("transfers.drive")
    return payout


def cancel_payout(payout: Payout) -> Payout:
    """Call a payout back before it is signed, in the caller's database transaction. One that failed stays failed.

    Its money stays in its account: whoever reserved it takes it back.
    """
    _require_transaction()
    payout = Payout.objects.select_for_update().get(pk=payout.pk)
    if payout.status in (PayoutStatus.SENDING, PayoutStatus.PAID):
        raise PayoutNotCancellable
    if payout.status in (PayoutStatus.READY, PayoutStatus.HELD):
        _end_payout(payout, PayoutStatus.CANCELLED)
    return payout


def hold_payout(payout_id: uuid.UUID, reason: HoldReason, *, until: datetime) -> None:
    """Look at a payout again later, or as soon as an operator has decided."""
    with transaction.atomic():
        payout = Payout.objects.select_for_update().get(pk=payout_id)
        if payout.status not in (PayoutStatus.READY, PayoutStatus.HELD):
            return
        if payout.hold_reason != reason:
            logger.warning("payout held", payout=payout.reference, reason=str(reason))
        if payout.status != PayoutStatus.HELD:
            _move_payout(payout, PayoutStatus.HELD)
        payout.hold_reason, payout.next_attempt_at = reason, until
        payout.save(update_fields=["status", "hold_reason", "next_attempt_at"])


def retry_waiting(*, environment: str, network: str, asset: str) -> None:
    """Coins have come into the hot wallet: look again at once at what waits for them."""
    waiting = Payout.objects.filter(environment=environment, network=network, asset=asset, status=PayoutStatus.HELD)
    if waiting.filter(hold_reason=HoldReason.LIQUIDITY).update(next_attempt_at=timezone.now()):
        wake("transfers.drive")


def postpone_payouts(payout_ids: Sequence[uuid.UUID], *, until: datetime) -> None:
    """The network did not answer a question about these; nothing is wrong with them."""
    Payout.objects.filter(pk__in=payout_ids, status__in=[PayoutStatus.READY, PayoutStatus.HELD]).update(
        next_attempt_at=until
    )


def fail_payout(payout_id: uuid.UUID, *, code: str, message: str) -> None:
    """Give up a payout that was never sent."""
    with transaction.atomic():
        payout = Payout.objects.select_for_update().get(pk=payout_id)
        if payout.status in (PayoutStatus.READY, PayoutStatus.HELD):
            _end_payout(payout, PayoutStatus.FAILED, code=code, message=message)


def approve_payout(payout: Payout, *, operator: User) -> Payout:
    """One of the two people that a held payout needs. The limit of a single transfer stays."""
    with transaction.atomic():
        payout = Payout.objects.select_for_update().get(pk=payout.pk)
        if payout.status != PayoutStatus.HELD:
            raise PayoutNotHeld
        if payout.approvals.filter(operator=operator).exists():
            raise AlreadyApproved
        PayoutApproval.objects.create(payout=payout, operator=operator)
        payout.next_attempt_at = timezone.now()
        payout.save(update_fields=["next_attempt_at"])
        logger.info("payout approved", payout=payout.reference, operator=operator.email)
        wake("transfers.drive")
        return payout


def reject_payout(payout: Payout, *, operator: User, note: str) -> Payout:
    """Give up a payout that was held. Its money goes back to where it came from."""
    if not note.strip():
        raise InvalidParameter("Say why: the merchant is shown it.", param="note")
    with transaction.atomic():
        payout = Payout.objects.select_for_update().get(pk=payout.pk)
        if payout.status != PayoutStatus.HELD:
            raise PayoutNotHeld
        _end_payout(payout, PayoutStatus.FAILED, code="rejected", message=note.strip()[:300])
        logger.warning("payout rejected", payout=payout.reference, operator=operator.email)
        return payout


# --- transfers ---------------------------------------------------------------------------------------


def record_signed(wallet: Wallet, signed: SignedTransfer, *, payout_ids: Sequence[uuid.UUID]) -> Transfer | None:
    """Store a signed transfer before it is sent; None, and the bytes are forgotten, when the world has moved on.

    The caller holds the wallet. `payout_ids` are what it carries, in this order.
    """
    with transaction.atomic():
        wallet = Wallet.objects.select_for_update().get(pk=wallet.pk)
        payouts = _waiting(payout_ids)
        if payouts is None or not _may_sign(wallet, signed.sequence):
            return None
        transfer = _insert(wallet, signed, Transfer(purpose=TransferPurpose.PAYOUT))
        _carry(transfer, payouts)
        return transfer


def record_signed_sweep(
    wallet: Wallet,
    signed: SignedTransfer,
    *,
    asset: Asset,
    deposits: Sequence[int],
    record: Callable[[Transfer], None],
) -> Transfer | None:
    """As record_signed, for a sweep of an asset from deposit addresses; `record` writes what is swept beside it."""
    with transaction.atomic():
        wallet = Wallet.objects.select_for_update().get(pk=wallet.pk)
        if not _may_sign(wallet, signed.sequence):
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
        payouts = _waiting(payout_ids)
        if payouts is None or taken.exists():
            return None
        found = Transfer(purpose=TransferPurpose.PAYOUT, status=TransferStatus.SENT, sent_at=timezone.now())
        transfer = _insert(wallet, sent, found)
        _carry(transfer, payouts)
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


def record_final(transfer: Transfer, mined: Mined) -> Transfer:
    """It is in a block for good and the money moved: pay the payouts, and book what it cost.

    InsufficientFunds, and nothing is kept, when the books do not have the coins in the hot wallet yet.
    """
    with transaction.atomic():
        transfer, payouts = _locked(transfer)
        if not transfer.is_open:
            return transfer
        _post_with_fee(transfer, [postings.payout_paid(payout) for payout in payouts], mined)
        for payout in payouts:
            _end_payout(payout, PayoutStatus.PAID)
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
                _end_payout(payout, PayoutStatus.FAILED, code="transfer_failed", message=message[:300])
                continue
            payout.is_alone = True
            wait = RETRY_AFTER * payout.attempt_count if len(payouts) == 1 else timedelta()
            _ready_again(payout, at=timezone.now() + wait)
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
            _ready_again(payout, at=timezone.now())
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


def _require_transaction() -> None:
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError("a payout is asked for in the transaction that reserves its money")


def _waiting(payout_ids: Sequence[uuid.UUID]) -> list[Payout] | None:
    """These payouts, locked in the order of their keys and answered in the order given; None when one cannot be sent
    any more."""
    rows = Payout.objects.select_for_update().filter(pk__in=payout_ids).order_by("pk")
    payouts = {payout.pk: payout for payout in rows}
    if any(payout.status not in (PayoutStatus.READY, PayoutStatus.HELD) for payout in payouts.values()):
        return None
    return [payouts[key] for key in payout_ids]


def _may_sign(wallet: Wallet, sequence: int) -> bool:
    live = Transfer.objects.filter(wallet=wallet, sequence__gte=sequence).exclude(status=TransferStatus.DEAD)
    return wallet.frozen_at is None and not live.exists()


def _insert(wallet: Wallet, signed: SignedTransfer, transfer: Transfer) -> Transfer:
    """The transfer with its first version, in a wallet that the caller has locked."""
    transfer.wallet, transfer.environment, transfer.network = wallet, wallet.environment, wallet.network
    transfer.sequence = signed.sequence
    transfer.save(force_insert=True)
    _add_envelope(transfer, signed)
    wallet.next_sequence = max(wallet.next_sequence, signed.sequence + 1)
    wallet.save(update_fields=["next_sequence"])
    return transfer


def _carry(transfer: Transfer, payouts: Sequence[Payout]) -> None:
    for place, payout in enumerate(payouts):
        if payout.status == PayoutStatus.HELD:
            _move_payout(payout, PayoutStatus.READY)
        _move_payout(payout, PayoutStatus.SENDING)
        payout.transfer, payout.next_attempt_at, payout.hold_reason = transfer, None, ""
        payout.attempt_count += 1
        payout.save(update_fields=["status", "transfer", "next_attempt_at", "hold_reason", "attempt_count"])
        TransferLine.objects.create(transfer=transfer, payout=payout, place=place)


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


def _move_payout(payout: Payout, status: PayoutStatus) -> None:
    PAYOUT_MOVES.check(payout.status, status)
    payout.status = status


def _ready_again(payout: Payout, *, at: datetime) -> None:
    _move_payout(payout, PayoutStatus.READY)
    payout.next_attempt_at, payout.transfer = at, None
    payout.save(update_fields=["status", "next_attempt_at", "transfer", "is_alone"])


def _end_payout(payout: Payout, status: PayoutStatus, *, code: str = "", message: str = "") -> None:
    _move_payout(payout, status)
    payout.next_attempt_at, payout.finished_at, payout.hold_reason = None, timezone.now(), ""
    payout.failure_code, payout.failure_message = code, message
    payout.save(
        update_fields=["status", "next_attempt_at", "finished_at", "hold_reason", "failure_code", "failure_message"]
    )
    logger.info("payout ended", payout=payout.reference, status=str(status), code=code)


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
