"""Changes of a transfer and a wallet, and of the payouts in it. Nothing here queries a network."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.db import transaction
from django.db.models import Count, QuerySet
from django.utils import timezone

from config.celery import wake
from config.database.database_time import database_now
from config.money import Asset
from merchants.ledger import stops
from merchants.ledger.models import StopKind
from merchants.ledger.posting import PostingDraft, lock_accounts, post_drafts
from payments.chains.errors import RecipientProblem
from payments.chains.protocol.payouts import SignedTransfer
from payments.chains.recipients import refusal
from payments.screening.matching import note_evidence
from payments.transfers import postings
from payments.transfers.models import Channel, Envelope, Payout, PayoutPolicy, Transfer, Wallet
from payments.transfers.owners import PayoutsToAttribute, found_payouts, networks_to_decide
from payments.transfers.payouts import (
    HELD_FOR,
    carry,
    end_payout,
    goes_first,
    hold_payout,
    lock_policy,
    lock_waiting,
    ready_again,
    wait_for_trustline,
)
from payments.transfers.spending import Allowance, why_not_again
from payments.transfers.states import TRANSFER_MOVES, HoldReason, PayoutStatus, TransferPurpose, TransferStatus
from payments.transfers.wallets import freeze_of

logger = structlog.get_logger(__name__)

ATTEMPTS_MAX = 3
"""Failed on-chain transactions of a payout before it is given up."""

RETRY_AFTER = timedelta(seconds=30)
"""The pause before another attempt, times the attempts made so far."""


VOID_AFTER = timedelta(minutes=15)
"""Signed bytes that have waited so long without being sent are void: what they pay is checked and signed anew."""


@dataclass(frozen=True, slots=True)
class Mined:
    """The final block of a transfer, the providers that reported it, and its cost in base units of the native coin."""

    transaction_hash: str
    height: int
    fee: int
    native: Asset
    said_by: tuple[str, ...]


# --- transfers ---------------------------------------------------------------------------------------


def record_signed(wallet: Wallet, signed: SignedTransfer, *, payout_ids: Sequence[uuid.UUID]) -> Transfer | None:
    """Store a signed transfer before it is sent; None, and it is discarded, when it may not be sent any more.

    The caller holds the wallet. `payout_ids` are what it carries, in this order. The policy is checked again under its
    lock, where nobody else can use up what is left of a limit: a payout that exceeds one now is held. So is one whose
    money is not reserved in the ledger, whatever its row has.
    """
    with transaction.atomic():
        policy = lock_policy(wallet.environment)
        wallet = Wallet.objects.select_for_update().get(pk=wallet.pk)
        payouts = lock_waiting(payout_ids)
        coins = {payout.asset for payout in payouts or ()}
        if (
            payouts is None
            or not stops.may_leave(wallet.environment, wallet.network, coins, address=wallet.address)
            or not _may_sign(wallet, signed)
        ):
            return None
        if _hold_excess(policy, payouts) or _hold_unreserved(wallet, payouts):
            return None
        transfer = _insert(wallet, signed, Transfer(purpose=TransferPurpose.PAYOUT))
        carry(transfer, payouts, signed.claimable_balances)
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

    The caller need not hold the wallet. None also when the sequence was used meanwhile, or payouts have become due.
    """
    with transaction.atomic():
        lock_policy(wallet.environment)
        wallet = Wallet.objects.select_for_update().get(pk=wallet.pk)
        if not stops.may_leave(wallet.environment, wallet.network, {asset.code}, address=wallet.address):
            return None
        if not _may_sign(wallet, signed):
            return None
        if goes_first(wallet.environment, wallet.network):
            return None
        sweep = Transfer(purpose=TransferPurpose.SWEEP, asset=asset.code, deposits=list(deposits))
        transfer = _insert(wallet, signed, sweep)
        record(transfer)
        return transfer


def record_found(wallet: Wallet, sent: SignedTransfer, *, payout_ids: Sequence[uuid.UUID]) -> Transfer | None:
    """Record an on-chain transaction that has paid these payouts and is not in our rows. The wallet may be frozen.
    None when another transfer has its sequence, or one of the payouts was sent already.
    """
    with transaction.atomic():
        wallet = Wallet.objects.select_for_update().get(pk=wallet.pk)
        taken = _live(wallet, sent).filter(sequence=sent.sequence)
        payouts = lock_waiting(payout_ids)
        if payouts is None or taken.exists():
            return None
        found = Transfer(purpose=TransferPurpose.PAYOUT, status=TransferStatus.SENT, sent_at=timezone.now())
        transfer = _insert(wallet, sent, found)
        carry(transfer, payouts, sent.claimable_balances)
        return transfer


def record_found_sweep(
    wallet: Wallet, sent: SignedTransfer, mined: Mined, *, asset: Asset, deposits: Sequence[int]
) -> Transfer | None:
    """Record an on-chain sweep that is final and is not in our rows. The wallet may be frozen.

    None when another transfer has its sequence. If that is a sweep on its way, this is a version of it that our rows
    lack: it is followed to its end as any other.
    """
    with transaction.atomic():
        wallet = Wallet.objects.select_for_update().get(pk=wallet.pk)
        taken = _live(wallet, sent).filter(sequence=sent.sequence).first()
        if taken is not None:
            if taken.purpose == TransferPurpose.SWEEP:
                record_found_version(taken, sent)
            return None
        found = Transfer(purpose=TransferPurpose.SWEEP, asset=asset.code, deposits=list(deposits))
        found.status, found.sent_at = TransferStatus.SENT, timezone.now()
        return record_final(_insert(wallet, sent, found), mined, arrived={})


def record_found_version(transfer: Transfer, sent: SignedTransfer) -> None:
    """Store a version of a transfer on its way that is in a block and not in our rows. So it was sent, though our rows
    may be from before that."""
    with transaction.atomic():
        transfer, _ = _locked(transfer)
        if transfer.is_open:
            _add_envelope(transfer, sent)
            record_sent(transfer, next_step_at=timezone.now())


def record_replacement(transfer: Transfer, signed: SignedTransfer) -> bool:
    """Store another version of a transfer, before it is sent; False, and it is discarded, when it may not be sent.

    What was never sent is within the limits as they are now, or is not stored; what was sent may be mined anyway.
    Nothing is stored unless the ledger still reserves all that it carries.
    """
    with transaction.atomic():
        policy = lock_policy(transfer.environment)
        wallet = Wallet.objects.select_for_update().get(pk=transfer.wallet_id)
        transfer, payouts = _locked(transfer)
        if (
            not transfer.is_open
            or signed.sequence != transfer.sequence
            or not stops.may_leave(transfer.environment, transfer.network)
        ):
            return False
        if transfer.sent_at is None and why_not_again(policy, transfer) is not None:
            return False
        if _note_unreserved(wallet, payouts):
            return False
        _add_envelope(transfer, signed)
        logger.info("transfer replaced", transfer=str(transfer), transaction_hash=signed.transaction_hash)
        return True


def is_void(version: Envelope) -> bool:
    """True if this version, which was never sent, may not be sent any more, by the database's clock."""
    now = database_now()
    ends_at = version.signed_at + VOID_AFTER
    return now >= (ends_at if version.valid_until is None else min(ends_at, version.valid_until))


def record_sent(transfer: Transfer, *, next_step_at: datetime, error: str = "") -> None:
    """Record that it was sent, and the error, if the network reported one; neither proves anything."""
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
    """Put off the next query about it until `until`."""
    changes: dict[str, object] = {"next_step_at": until}
    if error is not None:
        changes["last_error"] = error[:1000]
    Transfer.objects.filter(pk=transfer.pk, finished_at__isnull=True).update(**changes)


def record_final(transfer: Transfer, mined: Mined, *, arrived: Mapping[uuid.UUID, int]) -> Transfer:
    """Record that it is in a final block and the money moved: mark payouts as paid, and book them and the fee.

    `arrived` is what each payout's recipient got, by the payout's key. Raises InsufficientFunds, and changes nothing,
    when the ledger does not have the coins in the hot wallet yet, and PostingConflict when one of the payouts is in the
    ledger as paid: somebody has changed its row.
    """
    with transaction.atomic():
        transfer, payouts = _locked(transfer)
        if not transfer.is_open:
            return transfer
        for payout in payouts:
            payout.arrived = arrived[payout.pk]
        paid = [draft for payout in payouts for draft in postings.payout_paid(payout, height=mined.height)]
        _post_with_fee(transfer, paid, mined)
        for payout in payouts:
            end_payout(payout, PayoutStatus.PAID)
        _end_transfer(transfer, TransferStatus.FINAL, mined)
        return transfer


def record_failed(
    transfer: Transfer, mined: Mined, *, error: str, refused: Mapping[int, RecipientProblem] | None = None
) -> Transfer:
    """Record that it is in a final block and moved nothing.

    Payouts at the positions of `refused` leave it: those to accounts without a trustline wait for one, the others fail.
    The rest is sent together again. Where nobody is named, payouts that shared it are sent one by one next; a single
    one is tried again, and given up after `ATTEMPTS_MAX`.
    """
    with transaction.atomic():
        transfer, payouts = _locked(transfer)
        if not transfer.is_open:
            return transfer
        _post_with_fee(transfer, [], mined)
        places = dict(transfer.lines.values_list("payout_id", "place"))
        problems = {payout.pk: (refused or {}).get(places[payout.pk]) for payout in payouts}
        is_named = any(problems.values())
        for payout in payouts:
            if is_named:
                _leave_or_go_on(payout, problems[payout.pk])
            else:
                _try_alone(payout, was_alone=len(payouts) == 1, error=error)
        transfer.last_error = error[:1000]
        _end_transfer(transfer, TransferStatus.FAILED, mined)
        return transfer


def record_dead(transfer: Transfer, *, said_by: Iterable[str] | None = None) -> Transfer:
    """Record that it can never be in a block: its payouts may be signed again. `said_by` are the providers that
    reported so."""
    with transaction.atomic():
        transfer, payouts = _locked(transfer)
        if not transfer.is_open:
            return transfer
        for payout in payouts:
            ready_again(payout, at=timezone.now())
        transfer.said_by = None if said_by is None else list(said_by)
        _end_transfer(transfer, TransferStatus.DEAD)
        return transfer


# --- wallets -----------------------------------------------------------------------------------------


def freeze_wallet(wallet: Wallet, *, reason: str) -> None:
    """Freeze a wallet: nothing more is signed until an operator thaws it. What is signed is followed to its end."""
    environment, network, address = wallet.environment, wallet.network, wallet.address
    stops.stop(StopKind.WALLET, environment=environment, network=network, address=address, reason=reason)


def note_not_signed(wallet: Wallet, *, reason: str, is_refused: bool) -> None:
    """Note that the signer of its own has not signed for the wallet just now: an alarm is made of it."""
    here = Wallet.objects.filter(pk=wallet.pk)
    here.update(not_signed_at=timezone.now(), not_signed_reason=reason[:1000], is_refused=is_refused)
    logger.error("not signed", wallet=str(wallet), reason=reason)


def catch_up(wallet: Wallet, next_sequences: Mapping[str, int]) -> None:
    """Record that everything below these sequences is known, by channel. A frozen wallet stays frozen."""
    with transaction.atomic():
        wallet = Wallet.objects.select_for_update().get(pk=wallet.pk)
        for channel, sequence in next_sequences.items():
            _raise_sequence(wallet, channel, sequence)


def thaw_wallet(wallet: Wallet, next_sequences: Mapping[str, int], *, thawed_by: str) -> None:
    """Thaw a wallet: it signs again, from nonces of its channels that it has never signed for.

    PayoutsToAttribute while found payouts of the network are not attributed.
    """
    with transaction.atomic():
        wallet = Wallet.objects.select_for_update().get(pk=wallet.pk)
        if found_payouts(wallet.environment, wallet.network).exists():
            raise PayoutsToAttribute
        if (frozen := freeze_of(wallet)) is not None:
            stops.lift_stop(frozen, by=thawed_by)
        for channel, sequence in next_sequences.items():
            _raise_sequence(wallet, channel, sequence)
    wake("transfers.drive")


# --- after a failure ---------------------------------------------------------------------------------


def _leave_or_go_on(payout: Payout, problem: RecipientProblem | None) -> None:
    """Handle a payout of a failed transfer, whose network named the payouts that made it fail."""
    if problem is None or problem == "no_trustline":
        ready_again(payout, at=timezone.now())
    if problem == "no_trustline":
        wait_for_trustline(payout)
    elif problem is not None:
        end_payout(payout, PayoutStatus.FAILED, code=problem, message=str(refusal(problem, payout.asset)))


def _try_alone(payout: Payout, *, was_alone: bool, error: str) -> None:
    """Handle a payout of a failed transfer, where it is unknown which payout made it fail."""
    failures = _failures_alone(payout) + 1 if was_alone else 0
    if failures >= ATTEMPTS_MAX:
        message = f"The network refused the transfer{f': {error}' if error else ''}."
        end_payout(payout, PayoutStatus.FAILED, code="transfer_failed", message=message[:300])
        return
    payout.is_alone = True
    ready_again(payout, at=timezone.now() + RETRY_AFTER * failures)


def _failures_alone(payout: Payout) -> int:
    """Number of failed transfers that carried this payout alone."""
    failed = Transfer.objects.filter(lines__payout=payout, status=TransferStatus.FAILED)
    return failed.alias(carried=Count("lines")).filter(carried=1).count()


# --- the parts ---------------------------------------------------------------------------------------


def _may_sign(wallet: Wallet, signed: SignedTransfer) -> bool:
    if wallet.network in networks_to_decide(wallet.environment):
        return False
    return not _live(wallet, signed).filter(sequence__gte=signed.sequence).exists()


def _live(wallet: Wallet, signed: SignedTransfer) -> QuerySet[Transfer]:
    """Transfers of the same channel that used their sequence, or still may."""
    same = Transfer.objects.filter(wallet=wallet, channel=wallet.channel_at(signed.sender))
    return same.exclude(status=TransferStatus.DEAD)


def _raise_sequence(wallet: Wallet, channel: str, sequence: int) -> None:
    """Let nothing below this sequence be signed for, in a wallet that the caller has locked."""
    if channel:
        Channel.objects.get_or_create(wallet=wallet, address=channel)
        rows: QuerySet[Channel] | QuerySet[Wallet] = Channel.objects.filter(wallet=wallet, address=channel)
    else:
        rows = Wallet.objects.filter(pk=wallet.pk)
    rows.filter(next_sequence__lt=sequence).update(next_sequence=sequence)


def _hold_excess(policy: PayoutPolicy, payouts: Sequence[Payout]) -> bool:
    """Hold those of the locked payouts that exceed a limit; returns whether there are any."""
    allowance = Allowance(policy)
    note_evidence(payouts)
    is_over = False
    for payout in payouts:
        reason = allowance.why_held(payout)
        if reason is None:
            allowance.take(payout)
        else:
            hold_payout(payout.pk, reason, until=timezone.now() + HELD_FOR, evidence=payout.evidence)
            is_over = True
    return is_over


def _hold_unreserved(wallet: Wallet, payouts: Sequence[Payout]) -> bool:
    """Hold those of the locked payouts whose money the ledger does not reserve; returns whether there are any."""
    unreserved = _note_unreserved(wallet, payouts)
    for payout in unreserved:
        hold_payout(payout.pk, HoldReason.SIGNER, until=timezone.now() + HELD_FOR)
    return bool(unreserved)


def _note_unreserved(wallet: Wallet, payouts: Sequence[Payout]) -> list[Payout]:
    """The locked payouts whose account does not hold exactly their amount; noted on the locked wallet, of which an
    alarm is made. One that was paid holds nothing: a row that is pending again by mistake pays nobody twice."""
    accounts = {payout.pk: postings.payout_account(payout.network, payout.asset, payout.pk) for payout in payouts}
    held = lock_accounts(accounts.values(), environment=wallet.environment)
    wrong = [payout for payout in payouts if held[accounts[payout.pk]] != int(payout.amount)]
    if wrong:
        amounts = ", ".join(f"{each.reference} ({held[accounts[each.pk]]} of {int(each.amount)})" for each in wrong)
        reason = f"Not signed: the ledger does not reserve what these payouts are to send, in base units: {amounts}."
        note_not_signed(wallet, reason=reason, is_refused=True)
    return wrong


def _insert(wallet: Wallet, signed: SignedTransfer, transfer: Transfer) -> Transfer:
    """Insert a transfer with its first version, in a wallet that the caller has locked."""
    transfer.wallet, transfer.environment, transfer.network = wallet, wallet.environment, wallet.network
    transfer.channel, transfer.sequence = wallet.channel_at(signed.sender), signed.sequence
    transfer.save(force_insert=True)
    _add_envelope(transfer, signed)
    _raise_sequence(wallet, transfer.channel, signed.sequence + 1)
    return transfer


def _add_envelope(transfer: Transfer, signed: SignedTransfer) -> None:
    Envelope.objects.create(
        transfer=transfer,
        raw=signed.raw,
        transaction_hash=signed.transaction_hash,
        fee_limit_units=signed.fee_limit_units,
        valid_until=signed.valid_until,
        signed_at=database_now(),
    )


def _locked(transfer: Transfer) -> tuple[Transfer, list[Payout]]:
    """The transfer and what it carries, locked in the order of docs/locking.md."""
    transfer = Transfer.objects.select_for_update().get(pk=transfer.pk)
    carried = Payout.objects.select_for_update().filter(transfer=transfer, status=PayoutStatus.SENDING)
    return transfer, list(carried.order_by("pk"))


def _post_with_fee(transfer: Transfer, drafts: list[PostingDraft], mined: Mined) -> None:
    if mined.fee:
        touched = {line.account for draft in drafts for line in draft.lines} | postings.fee_accounts(mined.native)
        held = lock_accounts(touched, environment=transfer.environment)[postings.gas_account(mined.native)]
        paid = postings.gas_paid(transfer, mined.native, fee=mined.fee, held=held, height=mined.height)
        drafts = [*drafts, paid]
    if drafts:
        post_drafts(drafts, environment=transfer.environment, are_new=True)


def _move_transfer(transfer: Transfer, status: TransferStatus) -> None:
    TRANSFER_MOVES.check(transfer.status, status)
    transfer.status = status


def _end_transfer(transfer: Transfer, status: TransferStatus, mined: Mined | None = None) -> None:
    _move_transfer(transfer, status)
    if mined is not None:
        transfer.transaction_hash, transfer.height, transfer.fee_units = mined.transaction_hash, mined.height, mined.fee
        transfer.said_by = list(mined.said_by)
    transfer.next_step_at, transfer.finished_at = None, timezone.now()
    transfer.save()
    logger.info("transfer ended", transfer=str(transfer), transaction_hash=transfer.transaction_hash)
