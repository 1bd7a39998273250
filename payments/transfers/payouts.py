"""Changes of a payout: requested, held, approved, sent, ended. Nothing here queries a network."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from config.celery import wake
from config.database.database_time import database_now
from config.errors import DomainError, InvalidParameter
from config.money import Asset
from merchants.four_eyes.models import Proposal, ProposalKind, ProposalStatus
from merchants.four_eyes.people import people_needed
from merchants.four_eyes.services import propose, register
from merchants.ledger.posting import lock_accounts
from merchants.models import User
from payments.chains.signer.messages import intent_mac
from payments.screening.matching import with_lists
from payments.transfers import postings
from payments.transfers.models import (
    Payout,
    PayoutPolicy,
    Transfer,
    TransferLine,
    approval_count,
)
from payments.transfers.states import PAYOUT_MOVES, HoldReason, PayoutStatus

logger = structlog.get_logger(__name__)

HELD_FOR = timedelta(minutes=5)
"""Time a payout that a limit holds waits before the next check, unless an operator decides sooner."""


TRUSTLINE_PAUSE_MIN, TRUSTLINE_PAUSE_MAX = timedelta(minutes=1), timedelta(hours=1)
"""Time a payout waits before the next query about its recipient's account: a tenth of the time it has waited."""

SET_ASIDE_AFTER = timedelta(days=3)
"""Time a payout waits for a trustline before it becomes a claimable balance, where the operator lets it: whoever can
add the trustline is to have time for it."""


class PayoutNotCancellable(DomainError):
    code = "payout_not_cancellable"
    message = "This is on its way already, and cannot be called back."


class PayoutNotHeld(DomainError):
    code = "payout_not_held"
    message = "Only a payout that is held can be approved, rejected or tried again."


class AlreadyApproved(DomainError):
    code = "already_approved"
    message = "This already has all the approvals it needs."


FOR_COINS = (HoldReason.LIQUIDITY, HoldReason.REFILL)
"""Reasons that hold payouts until coins come into the hot wallet."""


def policy_of(environment: str) -> PayoutPolicy:
    return PayoutPolicy.objects.get_or_create(environment=environment)[0]


def lock_policy(environment: str) -> PayoutPolicy:
    """The policy, locked: until the database transaction ends nothing else of the environment is signed, and no
    operator changes it or stops anything."""
    return PayoutPolicy.objects.select_for_update().get_or_create(environment=environment)[0]


def goes_first(environment: str, network: str) -> bool:
    """True if payouts are due that could leave before anything else of their wallet. Those that wait for coins wait for
    a sweep themselves."""
    waiting = Q(status=PayoutStatus.READY) | (Q(status=PayoutStatus.HELD) & ~Q(hold_reason__in=FOR_COINS))
    here = Payout.objects.filter(environment=environment, network=network, next_attempt_at__lte=timezone.now())
    return here.filter(waiting).exists()


def request_payout(
    *,
    id: uuid.UUID,
    environment: str,
    merchant_id: uuid.UUID | None,
    reference: str,
    asset: Asset,
    amount: int,
    recipient: str,
    memo: str = "",
    memo_type: str = "",
) -> Payout:
    """Create a payout, inside the database transaction that has reserved its money in `payout_account` of the id.

    `reference` is the public id of what it is for, and can have one payout only. Without a merchant it is the house's
    own money, which leaves with approvals alone, whatever its amount.
    """
    require_transaction()
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
        memo_type=memo_type,
        intent_mac=_intent_mac(environment, id, asset, amount, recipient, memo, memo_type),
    )
    wake("transfers.drive")
    return payout


def _intent_mac(
    environment: str, id: uuid.UUID, asset: Asset, amount: int, recipient: str, memo: str, memo_type: str
) -> str:
    """The mark by which a remote signer recognises this payout; empty without one."""
    if not settings.PAYOUT_INTENT_KEY:
        return ""
    return intent_mac(
        settings.PAYOUT_INTENT_KEY,
        environment=environment,
        network=asset.network,
        payout_id=str(id),
        coin=asset.code,
        amount=amount,
        recipient=recipient,
        memo=memo,
        memo_type=memo_type,
    )


def cancel_payout(payout: Payout) -> Payout:
    """Cancel a payout before it is signed, in the caller's database transaction. One that failed stays failed.

    Its money stays in its account: the app that reserved it returns it.
    """
    require_transaction()
    payout = Payout.objects.select_for_update().get(pk=payout.pk)
    if payout.status in (PayoutStatus.SENDING, PayoutStatus.PAID):
        raise PayoutNotCancellable
    if payout.status in (PayoutStatus.READY, PayoutStatus.HELD):
        end_payout(payout, PayoutStatus.CANCELLED)
    return payout


def hold_payout(payout_id: uuid.UUID, reason: HoldReason, *, until: datetime, evidence: str = "") -> None:
    """Hold a payout: check it again at `until`, or as soon as an operator has decided. `evidence` is what a list says
    of its recipient."""
    with transaction.atomic():
        payout = Payout.objects.select_for_update().get(pk=payout_id)
        if payout.status not in (PayoutStatus.READY, PayoutStatus.HELD):
            return
        _hold(payout, reason)
        payout.next_attempt_at = until
        payout.evidence = payout.evidence or evidence
        payout.save(update_fields=[*_HELD_FIELDS, "evidence"])


def hold_for_trustline(payout_id: uuid.UUID, *, may_be_set_aside: bool = False) -> None:
    """Hold a payout whose recipient's account does not hold the coin, and check it less and less often.

    One that may become a claimable balance does so `SET_ASIDE_AFTER` this was first known of it.
    """
    with transaction.atomic():
        payout = Payout.objects.select_for_update().get(pk=payout_id)
        if payout.status not in (PayoutStatus.READY, PayoutStatus.HELD):
            return
        if not may_be_set_aside:
            payout.set_aside_at = None
        elif payout.set_aside_at is None:
            payout.set_aside_at = timezone.now() + SET_ASIDE_AFTER
        wait_for_trustline(payout)


def hold_payouts(payout_ids: Sequence[uuid.UUID], reason: HoldReason, *, until: datetime) -> None:
    """As hold_payout, of many at once and for the same reason. Those that wait for a trustline go on waiting for it."""
    with transaction.atomic():
        waiting = Payout.objects.filter(pk__in=payout_ids, status__in=[PayoutStatus.READY, PayoutStatus.HELD])
        found = dict(waiting.select_for_update().order_by("pk").values_list("pk", "hold_reason"))
        held = {key: before for key, before in found.items() if before != HoldReason.NO_TRUSTLINE}
        news = [key for key, before in held.items() if before != reason]
        changes = {"hold_reason": reason, "next_attempt_at": until}
        Payout.objects.filter(pk__in=found.keys() - held.keys()).update(next_attempt_at=until)
        Payout.objects.filter(pk__in=held).update(status=PayoutStatus.HELD, **changes)
        Payout.objects.filter(pk__in=news).update(held_since=timezone.now())
    if news:
        logger.warning("payouts held", count=len(news), reason=str(reason))


def retry_held(payout: Payout) -> Payout:
    """Look at a held payout again now, and not when its time has come."""
    with transaction.atomic():
        payout = Payout.objects.select_for_update().get(pk=payout.pk)
        if payout.status != PayoutStatus.HELD:
            raise PayoutNotHeld
        payout.next_attempt_at = timezone.now()
        payout.save(update_fields=["next_attempt_at"])
    wake("transfers.drive")
    return payout


def retry_waiting(*, environment: str, network: str, asset: str) -> None:
    """Make payouts due that wait for coins, because coins have come into the hot wallet."""
    waiting = Payout.objects.filter(environment=environment, network=network, asset=asset, status=PayoutStatus.HELD)
    if waiting.filter(hold_reason__in=FOR_COINS).update(next_attempt_at=timezone.now()):
        wake("transfers.drive")


def postpone_payouts(payout_ids: Sequence[uuid.UUID], *, until: datetime) -> None:
    """Postpone payouts, because the network did not answer; nothing is wrong with them."""
    Payout.objects.filter(pk__in=payout_ids, status__in=[PayoutStatus.READY, PayoutStatus.HELD]).update(
        next_attempt_at=until
    )


def fail_payout(payout_id: uuid.UUID, *, code: str, message: str) -> None:
    """Give up a payout that was never sent."""
    with transaction.atomic():
        payout = Payout.objects.select_for_update().get(pk=payout_id)
        if payout.status in (PayoutStatus.READY, PayoutStatus.HELD):
            end_payout(payout, PayoutStatus.FAILED, code=code, message=message)


def approve_payout(payout: Payout, *, by: User) -> Proposal:
    """Propose that a held payout leaves, or agree to it. The limit of a single transfer stays.

    It is for this amount to this recipient, and falls when either changes, when one of those who agreed loses the
    right to decide, and when another gives them a new password.
    """
    payout = Payout.objects.get(pk=payout.pk)
    if payout.status != PayoutStatus.HELD and not _was_never_sent(payout):
        raise PayoutNotHeld
    if approval_count(payout) >= people_needed(payout.environment):
        raise AlreadyApproved
    return propose(
        ProposalKind.PAYOUT,
        environment=payout.environment,
        subject=payout.pk,
        after=payout.terms,
        by=by,
    )


def approve_as_agreed(payout: Payout, proposal: Proposal) -> None:
    """Store who has agreed to what a payout is made for, as its approval."""
    approval = Proposal(
        kind=ProposalKind.PAYOUT,
        environment=payout.environment,
        subject=str(payout.pk),
        after=payout.terms,
        status=ProposalStatus.DONE,
        proposed_by=proposal.proposed_by,
        proposed_at=proposal.proposed_at,
        decided_by=proposal.decided_by,
        decided_at=timezone.now(),
    )
    approval.told = _summary_of(approval)
    approval.save()


def _summary_of(proposal: Proposal) -> str:
    payout = Payout.objects.get(pk=proposal.subject)
    return f"Pay {payout} to {' '.join(filter(None, [payout.recipient, payout.memo]))}"


def _approve_as_agreed(proposal: Proposal, people: str) -> bool:
    payout = Payout.objects.select_for_update().get(pk=proposal.subject)
    is_held = payout.status == PayoutStatus.HELD
    if proposal.after != payout.terms or not (is_held or _was_never_sent(payout)):
        return False
    if is_held:
        payout.next_attempt_at = timezone.now()
        payout.save(update_fields=["next_attempt_at"])
    logger.info("payout approved", payout=payout.reference, by=people)
    wake("transfers.drive")
    return True


register(ProposalKind.PAYOUT, _approve_as_agreed, permission="transfers.change_payout", summarize=_summary_of)


def reject_payout(payout: Payout, *, operator: User, note: str) -> Payout:
    """Give up a payout that was held. Its money goes back to where it came from."""
    if not note.strip():
        raise InvalidParameter("Enter a reason: the merchant sees it.", param="note")
    with transaction.atomic():
        payout = Payout.objects.select_for_update().get(pk=payout.pk)
        if payout.status != PayoutStatus.HELD:
            raise PayoutNotHeld
        end_payout(payout, PayoutStatus.FAILED, code="rejected", message=note.strip()[:300])
        logger.warning("payout rejected", payout=payout.reference, operator=operator.email)
        return payout


# The functions below run in the database transaction that changes the transfer.


def lock_waiting(payout_ids: Sequence[uuid.UUID]) -> list[Payout] | None:
    """These payouts, locked in the order of their keys and returned in the order given; None when one of them cannot
    be sent any more."""
    rows = with_lists(Payout.objects.select_for_update().filter(pk__in=payout_ids)).order_by("pk")
    payouts = {payout.pk: payout for payout in rows}
    if any(payout.status not in (PayoutStatus.READY, PayoutStatus.HELD) for payout in payouts.values()):
        return None
    return [payouts[key] for key in payout_ids]


def carry(transfer: Transfer, payouts: Sequence[Payout], claimable_balances: Mapping[int, str]) -> None:
    """Mark payouts as sent by the transfer, in this order; those at the positions of `claimable_balances` are set
    aside under these ids."""
    for place, payout in enumerate(payouts):
        claimable_balance = claimable_balances.get(place, "")
        if not claimable_balance:  # should its trustline be missing again, its recipient has all the time again
            payout.set_aside_at = None
        if payout.status == PayoutStatus.HELD:
            _move_payout(payout, PayoutStatus.READY)
        _move_payout(payout, PayoutStatus.SENDING)
        payout.transfer, payout.next_attempt_at, payout.hold_reason, payout.held_since = transfer, None, "", None
        payout.attempt_count += 1
        payout.save(update_fields=["transfer", "attempt_count", *_HELD_FIELDS])
        TransferLine.objects.create(transfer=transfer, payout=payout, place=place, claimable_balance=claimable_balance)


def ready_again(payout: Payout, *, at: datetime) -> None:
    """Let a payout be signed again at `at`, because its transfer moved nothing and never will."""
    _move_payout(payout, PayoutStatus.READY)
    payout.next_attempt_at, payout.transfer = at, None
    payout.save(update_fields=["status", "next_attempt_at", "transfer", "is_alone"])


def wait_for_trustline(payout: Payout) -> None:
    """Hold a locked payout that is in no transfer until its recipient's account holds the coin."""
    now = timezone.now()
    _hold(payout, HoldReason.NO_TRUSTLINE)
    waited = now - (payout.held_since or now)
    payout.next_attempt_at = now + min(max(waited / 10, TRUSTLINE_PAUSE_MIN), TRUSTLINE_PAUSE_MAX)
    if payout.set_aside_at is not None and payout.set_aside_at > now:
        payout.next_attempt_at = min(payout.next_attempt_at, payout.set_aside_at)
    payout.save(update_fields=_HELD_FIELDS)


def end_payout(payout: Payout, status: PayoutStatus, *, code: str = "", message: str = "") -> None:
    """End a payout. The merchant is shown the code and the message of a failure."""
    _move_payout(payout, status)
    payout.next_attempt_at, payout.finished_at = None, database_now()
    payout.hold_reason, payout.held_since = "", None
    payout.failure_code, payout.failure_message = code, message
    payout.save(
        update_fields=[
            *_HELD_FIELDS,
            "arrived",
            "finished_at",
            "failure_code",
            "failure_message",
        ]
    )
    logger.info("payout ended", payout=payout.reference, status=str(status), code=code)


_HELD_FIELDS = ("status", "hold_reason", "held_since", "set_aside_at", "next_attempt_at")


def _hold(payout: Payout, reason: HoldReason) -> None:
    if payout.hold_reason != reason:
        logger.warning("payout held", payout=payout.reference, reason=str(reason))
        payout.held_since = timezone.now()
    if payout.status != PayoutStatus.HELD:
        _move_payout(payout, PayoutStatus.HELD)
    payout.hold_reason = reason


def _was_never_sent(payout: Payout) -> bool:
    """True if its transfer is signed and was never sent: when that is void, a limit may require approvals again."""
    return payout.status == PayoutStatus.SENDING and payout.transfer is not None and payout.transfer.sent_at is None


def require_transaction() -> None:
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError("a payout is asked for in the transaction that reserves its money")


def _move_payout(payout: Payout, status: PayoutStatus) -> None:
    PAYOUT_MOVES.check(payout.status, status)
    payout.status = status
