"""Every change of a payout: asked for, held, approved, on its way, ended. Nothing here talks to a network."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta

import structlog
from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from config.celery import wake
from config.errors import DomainError, InvalidParameter
from config.installation.services import may_act
from config.money import Asset
from merchants.ledger import breakers
from merchants.ledger.posting import lock_accounts
from merchants.models import User
from payments.transfers import postings
from payments.transfers.models import Payout, PayoutApproval, PayoutPolicy, Transfer, TransferLine
from payments.transfers.states import PAYOUT_MOVES, HoldReason, PayoutStatus

logger = structlog.get_logger(__name__)

HELD_FOR = timedelta(minutes=5)
"""How long a payout that a limit holds is left alone, unless an operator decides sooner."""


class PayoutNotCancellable(DomainError):
    code = "payout_not_cancellable"
    message = "This is on its way already, and cannot be called back."


class PayoutNotHeld(DomainError):
    code = "payout_not_held"
    message = "Only a payout that is held can be approved or rejected."


class AlreadyApproved(DomainError):
    code = "already_approved"
    message = "You have approved this already. Somebody else must."


def policy_of(environment: str) -> PayoutPolicy:
    return PayoutPolicy.objects.get_or_create(environment=environment)[0]


def lock_policy(environment: str) -> PayoutPolicy:
    """The policy, locked: until the database transaction ends nothing else of the environment is signed for, and no
    operator changes it."""
    return PayoutPolicy.objects.select_for_update().get_or_create(environment=environment)[0]


def may_leave(policy: PayoutPolicy, network: str) -> bool:
    """Whether money may leave at all: the kill switch, the network's breaker and a restored database forbid it."""
    is_stopped = breakers.is_open(environment=policy.environment, network=network)
    return policy.payouts_enabled and not is_stopped and may_act()


def goes_first(environment: str, network: str) -> bool:
    """Whether payouts are due that could leave before anything else of their wallet. Those that wait for coins wait
    for a sweep themselves."""
    waiting = Q(status=PayoutStatus.READY) | (Q(status=PayoutStatus.HELD) & ~Q(hold_reason=HoldReason.LIQUIDITY))
    here = Payout.objects.filter(environment=environment, network=network, next_attempt_at__lte=timezone.now())
    return here.filter(waiting).exists()


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
        end_payout(payout, PayoutStatus.CANCELLED)
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


def hold_payouts(payout_ids: Sequence[uuid.UUID], reason: HoldReason, *, until: datetime) -> None:
    """As hold_payout, of many at once and for the same reason."""
    with transaction.atomic():
        waiting = Payout.objects.filter(pk__in=payout_ids, status__in=[PayoutStatus.READY, PayoutStatus.HELD])
        held = dict(waiting.select_for_update().order_by("pk").values_list("pk", "hold_reason"))
        changes = {"hold_reason": reason, "next_attempt_at": until}
        Payout.objects.filter(pk__in=held).update(status=PayoutStatus.HELD, **changes)
    if news := [key for key, before in held.items() if before != reason]:
        logger.warning("payouts held", count=len(news), reason=str(reason))


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
            end_payout(payout, PayoutStatus.FAILED, code=code, message=message)


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
        end_payout(payout, PayoutStatus.FAILED, code="rejected", message=note.strip()[:300])
        logger.warning("payout rejected", payout=payout.reference, operator=operator.email)
        return payout


# With the transfer that carries them, in the database transaction of its change.


def lock_waiting(payout_ids: Sequence[uuid.UUID]) -> list[Payout] | None:
    """These payouts, locked in the order of their keys and answered in the order given; None when one cannot be sent
    any more."""
    rows = Payout.objects.select_for_update().filter(pk__in=payout_ids).order_by("pk")
    payouts = {payout.pk: payout for payout in rows}
    if any(payout.status not in (PayoutStatus.READY, PayoutStatus.HELD) for payout in payouts.values()):
        return None
    return [payouts[key] for key in payout_ids]


def carry(transfer: Transfer, payouts: Sequence[Payout]) -> None:
    """They are on their way in it, in this order."""
    for place, payout in enumerate(payouts):
        if payout.status == PayoutStatus.HELD:
            _move_payout(payout, PayoutStatus.READY)
        _move_payout(payout, PayoutStatus.SENDING)
        payout.transfer, payout.next_attempt_at, payout.hold_reason = transfer, None, ""
        payout.attempt_count += 1
        payout.save(update_fields=["status", "transfer", "next_attempt_at", "hold_reason", "attempt_count"])
        TransferLine.objects.create(transfer=transfer, payout=payout, place=place)


def ready_again(payout: Payout, *, at: datetime) -> None:
    """What carried it moved nothing, or never will: it may be signed for again then."""
    _move_payout(payout, PayoutStatus.READY)
    payout.next_attempt_at, payout.transfer = at, None
    payout.save(update_fields=["status", "next_attempt_at", "transfer", "is_alone"])


def end_payout(payout: Payout, status: PayoutStatus, *, code: str = "", message: str = "") -> None:
    """Nothing becomes of it any more. The code and the message are what the merchant is shown of a failure."""
    _move_payout(payout, status)
    payout.next_attempt_at, payout.finished_at, payout.hold_reason = None, timezone.now(), ""
    payout.failure_code, payout.failure_message = code, message
    payout.save(
        update_fields=[
            "status",
            "arrived",
            "next_attempt_at",
            "finished_at",
            "hold_reason",
            "failure_code",
            "failure_message",
        ]
    )
    logger.info("payout ended", payout=payout.reference, status=str(status), code=code)


def _require_transaction() -> None:
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError("a payout is asked for in the transaction that reserves its money")


def _move_payout(payout: Payout, status: PayoutStatus) -> None:
    PAYOUT_MOVES.check(payout.status, status)
    payout.status = status
