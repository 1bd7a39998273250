"""What a refund takes from a payment and gives back to it. Every function is part of the caller's database transaction.

The caller holds the payment by `lock_payment`, so that no two refunds take the same money and none meets a judgement.
"""

from __future__ import annotations

import uuid

from django.db.models import Sum
from django.utils import timezone

from config.errors import DomainError
from merchants.ledger.chart import AccountKind
from merchants.ledger.posting import InsufficientFunds, post_draft
from payments import events, postings
from payments.assessment import status_after_refunds
from payments.balance_changes import record_balance_changes
from payments.changes import Changes, record_payment_events
from payments.crediting import count_move, move_payment
from payments.models import Discrepancy, Payment
from payments.services import DiscrepancyResolved
from payments.states import DISCREPANCY_MOVES, DiscrepancyKind, DiscrepancyStatus, PaymentStatus
from payments.transfers.postings import payout_account

OWN_KINDS = (DiscrepancyKind.OVERPAID, DiscrepancyKind.UNDERPAID)
"""Money in suspense that is a part of what the payment received."""


class RefundExceedsPayment(DomainError):
    code = "refund_exceeds_payment"
    message = "This is more than is left of the payment to give back."


class InsufficientBalance(DomainError):
    code = "insufficient_balance"
    message = "The available balance in this coin does not cover the refund: it has been settled already, or is held."


def lock_payment(payment_id: uuid.UUID) -> Payment:
    """The payment as it is, which nobody else changes until the database transaction ends."""
    return Payment.objects.select_for_update().get(pk=payment_id)


def refundable(payment: Payment) -> int:
    """Base units of the payment's own released money that are neither given back nor reserved for it."""
    suspended = payment.discrepancies.filter(status=DiscrepancyStatus.REFUNDED, kind__in=OWN_KINDS)
    from_suspense = int(suspended.aggregate(total=Sum("amount"))["total"] or 0)
    left: int = payment.released - (payment.refunded - from_suspense)
    return max(0, left)


def open_discrepancies(payment: Payment) -> list[Discrepancy]:
    """Money of the payment in suspense that may be given back, oldest first."""
    waiting = payment.discrepancies.filter(status=DiscrepancyStatus.OPEN).order_by("id")
    return [each for each in waiting if not _exceeds(payment, each, each.amount)]


def reserve(
    *, payment: Payment, discrepancy: Discrepancy | None, amount: int, payout_id: uuid.UUID, refund_public_id: str
) -> None:
    """Set money aside in the payout's ledger account: the payment's own released money, or all of a discrepancy."""
    if discrepancy is not None:
        _lock(discrepancy, payment, amount)
        if discrepancy.status != DiscrepancyStatus.OPEN:
            raise DiscrepancyResolved(param="discrepancyId")
        _move(discrepancy, DiscrepancyStatus.REFUNDED, resolved_by=refund_public_id)
    elif amount > refundable(payment):
        raise RefundExceedsPayment(param="amount")
    if _exceeds(payment, discrepancy, amount):
        raise RefundExceedsPayment(param="amount")
    draft = postings.refund_reserved(
        payment, discrepancy, amount=amount, payout_id=payout_id, refund_public_id=refund_public_id
    )
    try:
        post_draft(draft, environment=payment.environment)
    except InsufficientFunds as error:
        if error.account.kind != AccountKind.MERCHANT_AVAILABLE:
            raise
        raise InsufficientBalance(param="amount") from error
    record_balance_changes([draft], payment, reference=refund_public_id)
    if _is_own(discrepancy):
        payment.refunded += amount
        payment.save(update_fields=["refunded"])


def give_back(
    *, payment: Payment, discrepancy: Discrepancy | None, amount: int, payout_id: uuid.UUID, refund_public_id: str
) -> None:
    """A reserved refund will not be paid: its money goes back to where it came from.

    Suspense that a reorganisation has undone in between is no place to go back to: its money was taken from the
    merchant then, who is given it now.
    """
    owed: int | None = None
    if discrepancy is not None:
        _lock(discrepancy, payment, amount)
    if discrepancy is not None and discrepancy.status == DiscrepancyStatus.REFUNDED:
        _move(discrepancy, DiscrepancyStatus.OPEN)
    else:
        source = postings.refundable_account(payment, discrepancy)
        payout = payout_account(source.network, source.asset, payout_id)
        owed = Changes().owed_by_merchant(payment, source.network, source.asset, beside=[payout])
    draft = postings.refund_voided(
        payment, discrepancy, amount=amount, payout_id=payout_id, refund_public_id=refund_public_id, owed=owed
    )
    post_draft(draft, environment=payment.environment)
    record_balance_changes([draft], payment, reference=refund_public_id)
    if _is_own(discrepancy):
        payment.refunded -= amount
        payment.save(update_fields=["refunded"])


def complete(*, payment: Payment, discrepancy: Discrepancy | None, amount: int, refund_public_id: str) -> None:
    """A refund has reached the payer for good; the payment says so, and so does an event."""
    previous = payment.status
    if discrepancy is None or discrepancy.kind == DiscrepancyKind.UNDERPAID:
        payment.returned += amount
    paid = payment.released + payment.short
    move_payment(payment, status_after_refunds(PaymentStatus(previous), paid=paid, returned=payment.returned))
    payment.version += 1
    payment.save(update_fields=["returned", "status", "completed_at", "version"])
    if payment.status != previous:
        count_move(payment, previous)
    record_payment_events(payment, [events.REFUNDED])


def sender_of(payment: Payment, discrepancy: Discrepancy | None) -> str | None:
    """The one address all of that money came from; None when there are several, or nobody knows."""
    if discrepancy is not None and discrepancy.deposit is not None:
        return discrepancy.deposit.sender
    counted = payment.deposits.filter(booked_to=postings.PAYMENT)
    senders = set(counted.values_list("sender", flat=True))
    return senders.pop() if len(senders) == 1 else None


def _is_own(discrepancy: Discrepancy | None) -> bool:
    """Whether the money is a part of what the payment received."""
    return discrepancy is None or discrepancy.kind in OWN_KINDS


def _exceeds(payment: Payment, discrepancy: Discrepancy | None, amount: int) -> bool:
    """Money that came, went back, was undone by a reorganisation and came once more goes back once only."""
    return _is_own(discrepancy) and payment.refunded + amount > payment.received


def _lock(discrepancy: Discrepancy, payment: Payment, amount: int) -> None:
    discrepancy.refresh_from_db(from_queryset=Discrepancy.objects.select_for_update())
    if discrepancy.payment_id != payment.pk or discrepancy.amount != amount:
        raise RuntimeError(f"{discrepancy} is not {amount} of {payment}")


def _move(discrepancy: Discrepancy, status: DiscrepancyStatus, *, resolved_by: str = "") -> None:
    DISCREPANCY_MOVES.check(discrepancy.status, status)
    discrepancy.status, discrepancy.resolved_by = status, resolved_by
    discrepancy.resolved_at = timezone.now() if resolved_by else None
    discrepancy.save(update_fields=["status", "resolved_by", "resolved_at"])
