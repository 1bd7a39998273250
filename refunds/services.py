"""Every change of a refund: create it, name its destination, cancel it, and follow its payout to the end.

Locks are taken in this order: payment, refund, payout, ledger accounts.
"""

from __future__ import annotations

from collections.abc import Sequence

import structlog
from django.db import transaction
from django.utils import timezone

from config.celery import wake
from config.errors import DomainError, InvalidParameter
from merchants import counting
from payments.chains import registry
from payments.models import PayerContact, Payment
from payments.suspense import refund_accounting
from payments.suspense.destinations import Destination, parse_destination
from payments.transfers.payouts import PayoutNotCancellable, cancel_payout, request_payout
from payments.transfers.states import PayoutStatus
from refunds import events
from refunds.models import REFUNDS, Refund
from refunds.plans.planning import NewRefund, plan_refund
from refunds.records import refund_record
from refunds.states import REFUND_MOVES, SENT, NamedBy, RefundStatus
from webhooks.events.recording import build_event, record_events

logger = structlog.get_logger(__name__)


class RefundNotCancellable(DomainError):
    code = "refund_not_cancellable"
    message = "A refund can be cancelled only until it is sent."


class RefundHasDestination(DomainError):
    code = "refund_has_destination"
    message = "This refund already has an address, and it cannot be changed."


def create_refund(*, payment: Payment, request: NewRefund, requested_by: str) -> Refund:
    """Create a refund: reserve money of the payment, or of it in suspense, and have it sent back.

    It goes to the address that is named; without one to the sender, if the network can tell that the sender can be paid
    back there; otherwise the refund waits until an address is named.
    """
    with transaction.atomic():
        payment = refund_accounting.lock_payment(payment.pk)
        refund = plan_refund(payment, request)
        discrepancy = refund.discrepancy
        refund.requested_by = requested_by
        refund.status = RefundStatus.PENDING
        destination = _named_destination(refund, request)
        if destination is None and not refund_accounting.sender_of(payment, discrepancy):
            refund.status = RefundStatus.REQUIRES_ACTION
        reserve(refund, payment)
        if destination is not None:
            _send_to(refund, destination, NamedBy.MERCHANT)
        waits = refund.status == RefundStatus.REQUIRES_ACTION
        insert_refund(refund, [events.CREATED, *([events.REQUIRES_ACTION] if waits else [])])
        if destination is None and not waits:
            wake("refunds.resolve_destinations")
        return refund


def reserve(refund: Refund, payment: Payment, *, has_left: bool = False) -> None:
    """Reserve the money of a new refund, of the locked payment or of what is in suspense; see
    `refund_accounting.reserve`, whose errors it raises."""
    refund_accounting.reserve(
        payment=payment,
        discrepancy=refund.discrepancy,
        amount=refund.amount,
        payout_id=refund.id,
        refund_public_id=refund.public_id,
        returns_fee=refund.returns_fee,
        has_left=has_left,
    )


def insert_refund(refund: Refund, names: Sequence[str]) -> None:
    """Store a new refund, count it, and record its events of these names."""
    refund.save(force_insert=True)
    counting.record_created(
        REFUNDS,
        merchant_id=refund.merchant_id,
        environment=refund.environment,
        key=refund.id,
        status=refund.status,
    )
    record_events_of(refund, names)


def resolve_destination(refund: Refund) -> Refund:
    """Resolve the sender: either send the refund to its address, or wait for an address.

    It queries the network, so call it outside of any database transaction; ChainUnavailable changes nothing.
    """
    chain = registry.chain(refund.environment, refund.network)
    address = refund_accounting.pay_back_address(chain, refund.payment, refund.discrepancy)
    with transaction.atomic():
        refund = lock_refund(refund)
        if refund.status != RefundStatus.PENDING or refund.payout_id is not None:
            return refund
        if address is not None:
            _send_to(refund, Destination(address), NamedBy.SENDER)
            record_change(refund, RefundStatus.PENDING)
        else:
            record_change(refund, RefundStatus.REQUIRES_ACTION)
        return refund


def give_destination(refund: Refund, *, address: str, memo: str = "", memo_type: str = "", named_by: NamedBy) -> Refund:
    """Name the destination of a refund that needs one. It cannot be changed afterwards."""
    with transaction.atomic():
        refund = lock_refund(refund)
        if refund.status != RefundStatus.REQUIRES_ACTION:
            raise RefundHasDestination
        destination = parse_destination(
            environment=refund.environment, network=refund.network, address=address, memo=memo, memo_type=memo_type
        )
        _send_to(refund, destination, named_by)
        record_change(refund, RefundStatus.PENDING)
        return refund


def cancel_refund(refund: Refund) -> Refund:
    """Cancel a refund before it is sent; its money goes back to where it was. Cancelling again changes nothing."""
    with transaction.atomic():
        refund = lock_refund(refund)
        if refund.status == RefundStatus.CANCELLED:
            return refund
        if refund.status not in (RefundStatus.REQUIRES_ACTION, RefundStatus.PENDING):
            raise RefundNotCancellable(f"This refund is {refund.status} and cannot be cancelled.")
        if refund.payout is not None:
            try:
                refund.payout = cancel_payout(refund.payout)
            except PayoutNotCancellable:
                raise RefundNotCancellable("This refund is on its way already and cannot be cancelled.") from None
            if refund.payout.status == PayoutStatus.FAILED:
                raise RefundNotCancellable("This refund has just failed: its money comes back by itself.")
        _give_back(refund)
        record_change(refund, RefundStatus.CANCELLED)
        return refund


def follow_payout(refund: Refund) -> Refund:
    """Update a refund from its payout. Doing it again changes nothing."""
    with transaction.atomic():
        refund = lock_refund(refund)
        payout = refund.payout
        if payout is None or refund.status not in (RefundStatus.PENDING, RefundStatus.PROCESSING):
            return refund
        match PayoutStatus(payout.status):
            case PayoutStatus.SENDING if refund.status == RefundStatus.PENDING:
                record_change(refund, RefundStatus.PROCESSING)
            case PayoutStatus.READY | PayoutStatus.HELD if refund.status == RefundStatus.PROCESSING:
                record_change(refund, RefundStatus.PENDING)
            case PayoutStatus.PAID:
                if payout.transfer is None:
                    raise RuntimeError(f"{refund}: paid by no transfer")
                refund.transaction_hash, refund.token_fee = payout.transfer.transaction_hash, payout.token_fee
                refund.claimable_balance = payout.claimable_balance
                refund_accounting.complete(
                    payment=refund.payment,
                    discrepancy=refund.discrepancy,
                    amount=refund.amount,
                    refund_public_id=refund.public_id,
                )
                record_change(refund, RefundStatus.COMPLETED)
            case PayoutStatus.FAILED:
                refund.failure_code, refund.failure_message = payout.failure_code, payout.failure_message
                _give_back(refund)
                record_change(refund, RefundStatus.FAILED)
            case _:
                pass
        return refund


# --- where it goes -----------------------------------------------------------------------------------


def _named_destination(refund: Refund, request: NewRefund) -> Destination | None:
    if request.destination:
        return parse_destination(
            environment=refund.environment,
            network=refund.network,
            address=request.destination,
            memo=request.memo,
            memo_type=request.memo_type,
        )
    if request.memo:
        raise InvalidParameter("A memo belongs to an address: give the destination as well.", param="memo")
    return None


def _send_to(refund: Refund, destination: Destination, named_by: NamedBy) -> None:
    """Create the payout of the reserved money to this address."""
    refund.destination, refund.named_by = destination.address, named_by
    refund.memo, refund.memo_type = destination.memo, destination.memo_type
    refund.payout = request_payout(
        id=refund.id,
        environment=refund.environment,
        merchant_id=refund.merchant_id,
        reference=refund.public_id,
        asset=registry.asset(refund.environment, refund.network, refund.cryptocurrency),
        amount=refund.amount,
        recipient=destination.address,
        memo=destination.memo,
        memo_type=destination.memo_type,
    )


def _give_back(refund: Refund) -> None:
    """Return the reserved money to where it was."""
    refund_accounting.give_back(
        payment=refund.payment,
        discrepancy=refund.discrepancy,
        amount=refund.amount,
        payout_id=refund.id,
        refund_public_id=refund.public_id,
        returns_fee=refund.returns_fee,
    )


# --- writing it down ---------------------------------------------------------------------------------


def lock_refund(refund: Refund) -> Refund:
    """The refund as it is now, locked, with its payment, which is locked before it."""
    payment = refund_accounting.lock_payment(refund.payment_id)
    refund = Refund.objects.select_for_update().get(pk=refund.pk)
    refund.payment = payment
    return refund


def record_change(refund: Refund, status: RefundStatus) -> None:
    """Give a locked refund a status, or keep it after an address was named; store it, count it and record its event."""
    previous = refund.status
    if status != previous:
        REFUND_MOVES.check(previous, status)
        refund.status = status
    if status in REFUND_MOVES.terminal:
        refund.ended_at = timezone.now()
        refund.completed_at = refund.ended_at if status == RefundStatus.COMPLETED else None
    refund.version += 1
    refund.save()
    counting.status_changed(
        REFUNDS,
        merchant_id=refund.merchant_id,
        environment=refund.environment,
        key=refund.id,
        old=previous,
        new=status,
    )
    record_events_of(refund, [events.ON_STATUS[status]])
    if status in SENT:
        PayerContact.objects.notify(refund.payment_id)
    logger.info("refund changed", refund=refund.public_id, status=str(status), code=refund.failure_code)


def record_events_of(refund: Refund, types: Sequence[str]) -> None:
    """Record events that carry the refund as it is now, in this order."""
    record = refund_record(refund)
    record_events(
        [
            build_event(
                merchant_id=refund.merchant_id,
                environment=refund.environment,
                type=type,
                object_id=refund.id,
                version=refund.version,
                payload=record,
                direct_url=refund.payment.webhook_url,
            )
            for type in types
        ]
    )
