"""Every change of a refund: create it, name its destination, cancel it, and follow its payout to the end.

Locks are taken in this order: payment, refund, payout, ledger accounts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from config import ids
from config.celery import wake
from config.errors import DomainError, InvalidParameter
from config.money import FIAT_DIGITS, AmountNotExact, fiat_share, from_units, to_units
from merchants import counting
from payments.chains import registry
from payments.deposits import refund_accounting
from payments.deposits.acceptance import DiscrepancyResolved
from payments.deposits.destinations import Destination, parse_destination
from payments.deposits.refund_accounting import RefundExceedsPayment
from payments.models import Discrepancy, Payment
from payments.states import DiscrepancyStatus
from payments.transfers.payouts import PayoutNotCancellable, cancel_payout, request_payout
from payments.transfers.states import PayoutStatus
from refunds import events
from refunds.amounts import Quote, Share, all_that_is_left, take
from refunds.models import REFUNDS, Refund
from refunds.records import refund_record
from refunds.states import REFUND_MOVES, NamedBy, RefundStatus
from webhooks.recording import build_event, record_events

logger = structlog.get_logger(__name__)


class PaymentNotRefundable(DomainError):
    code = "payment_not_refundable"
    message = "Nothing has been paid that could be given back."


class DiscrepancyRequired(DomainError):
    code = "discrepancy_required"
    message = "Several sums of this payment are in suspense: say by discrepancyId which one to give back."


class RefundNotCancellable(DomainError):
    code = "refund_not_cancellable"
    message = "A refund can be cancelled only until it is sent."


class RefundHasDestination(DomainError):
    code = "refund_has_destination"
    message = "Where this refund goes has been decided, and cannot be changed any more."


@dataclass(frozen=True, slots=True)
class NewRefund:
    """What is asked for. `amount` is in the payment's currency; None stands for all that is left.

    `discrepancy` names money in suspense, which is given back completely.
    """

    amount: Decimal | None = None
    discrepancy: Discrepancy | None = None
    destination: str = ""
    memo: str = ""
    memo_type: str = ""
    reason: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


def create_refund(*, payment: Payment, request: NewRefund, requested_by: str) -> Refund:
    """Create a refund: reserve money of the payment, or of it in suspense, and have it sent back.

    It goes to the address that is named; without one to the sender, if the network says that the sender can be paid
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
        refund_accounting.reserve(
            payment=payment,
            discrepancy=discrepancy,
            amount=refund.amount,
            payout_id=refund.id,
            refund_public_id=refund.public_id,
            returns_fee=refund.returns_fee,
        )
        if destination is not None:
            _send_to(refund, destination, NamedBy.MERCHANT)
        refund.save(force_insert=True)
        counting.record_created(
            REFUNDS,
            merchant_id=refund.merchant_id,
            environment=refund.environment,
            key=refund.id,
            status=refund.status,
        )
        waits = refund.status == RefundStatus.REQUIRES_ACTION
        _tell(refund, [events.CREATED, *([events.REQUIRES_ACTION] if waits else [])])
        if destination is None and not waits:
            wake("refunds.resolve_destinations")
        return refund


def resolve_destination(refund: Refund) -> Refund:
    """Find out whether the sender can be paid back, and either send the refund there or ask for an address.

    It asks the network, so call it outside of any database transaction; ChainUnavailable changes nothing.
    """
    chain = registry.chain(refund.environment, refund.network)
    address = refund_accounting.pay_back_address(chain, refund.payment, refund.discrepancy)
    with transaction.atomic():
        refund = _locked(refund)
        if refund.status != RefundStatus.PENDING or refund.payout_id is not None:
            return refund
        if address is not None:
            _send_to(refund, Destination(address), NamedBy.SENDER)
            _record_change(refund, RefundStatus.PENDING)
        else:
            _record_change(refund, RefundStatus.REQUIRES_ACTION)
        return refund


def give_destination(refund: Refund, *, address: str, memo: str = "", memo_type: str = "", named_by: NamedBy) -> Refund:
    """Name the destination of a refund that needs one. It cannot be changed afterwards."""
    with transaction.atomic():
        refund = _locked(refund)
        if refund.status != RefundStatus.REQUIRES_ACTION:
            raise RefundHasDestination
        destination = parse_destination(
            environment=refund.environment, network=refund.network, address=address, memo=memo, memo_type=memo_type
        )
        _send_to(refund, destination, named_by)
        _record_change(refund, RefundStatus.PENDING)
        return refund


def cancel_refund(refund: Refund) -> Refund:
    """Cancel a refund before it is sent; its money goes back to where it was. Cancelling again changes nothing."""
    with transaction.atomic():
        refund = _locked(refund)
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
        _record_change(refund, RefundStatus.CANCELLED)
        return refund


def follow_payout(refund: Refund) -> Refund:
    """Update a refund from its payout. Doing it again changes nothing."""
    with transaction.atomic():
        refund = _locked(refund)
        payout = refund.payout
        if payout is None or refund.status not in (RefundStatus.PENDING, RefundStatus.PROCESSING):
            return refund
        match PayoutStatus(payout.status):
            case PayoutStatus.SENDING if refund.status == RefundStatus.PENDING:
                _record_change(refund, RefundStatus.PROCESSING)
            case PayoutStatus.READY | PayoutStatus.HELD if refund.status == RefundStatus.PROCESSING:
                _record_change(refund, RefundStatus.PENDING)
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
                _record_change(refund, RefundStatus.COMPLETED)
            case PayoutStatus.FAILED:
                refund.failure_code, refund.failure_message = payout.failure_code, payout.failure_message
                _give_back(refund)
                _record_change(refund, RefundStatus.FAILED)
            case _:
                pass
        return refund


# --- what is given back ------------------------------------------------------------------------------


def quote_of(payment: Payment) -> Quote:
    return Quote(payment.rate, FIAT_DIGITS[payment.currency], payment.decimals)


def what_is_left(payment: Payment) -> Share:
    """All that can still be given back of the payment's own money, without what is in suspense."""
    standing = Refund.objects.filter(payment=payment, discrepancy__isnull=True).standing()
    refunded: int = standing.aggregate(total=Sum("fiat_amount"))["total"] or 0
    return all_that_is_left(
        price=payment.fiat_amount,
        due=int(payment.due),
        released=payment.released,
        refundable=refund_accounting.refundable(payment),
        refunded=int(refunded),
    )


def plan_refund(payment: Payment, request: NewRefund) -> Refund:
    """The refund that a request would make, not stored; a DomainError says what is wrong with its amount or source."""
    discrepancy = _source(payment, request)
    if discrepancy is not None:
        return _new_refund_of(discrepancy, payment, request)
    share = _share_of_payment(payment, request.amount)
    refund = _new_refund(payment, request, fiat=share.fiat, amount=share.units)
    refund.returns_fee = returns_fees()
    return refund


def returns_fees() -> bool:
    """Whether a refund that is made now gives back the fee. There is none on money in suspense."""
    return settings.FEE_ON_REFUNDS == "returned"


def plan_refund_of(discrepancy: Discrepancy, payment: Payment) -> Refund:
    """The refund that would give money in suspense back, not stored: its amount, coin and worth. Checks nothing."""
    return _new_refund_of(discrepancy, payment, NewRefund())


def _source(payment: Payment, request: NewRefund) -> Discrepancy | None:
    """The money in suspense that is given back; None is the payment's own."""
    if request.discrepancy is not None:
        discrepancy = Discrepancy.objects.get(pk=request.discrepancy.pk)
        if discrepancy.payment_id != payment.pk:
            raise InvalidParameter("This money is not of this payment.", param="discrepancyId")
    elif payment.released:
        return None
    else:
        discrepancy = _only_one(payment, refund_accounting.open_discrepancies(payment))
    if discrepancy.status != DiscrepancyStatus.OPEN:
        raise DiscrepancyResolved(param="discrepancyId")
    if request.amount is not None:
        raise InvalidParameter(
            "Money that waits for a decision is given back whole: leave out the amount.", param="amount"
        )
    return discrepancy


def _only_one(payment: Payment, waiting: Sequence[Discrepancy]) -> Discrepancy:
    if not waiting:
        raise PaymentNotRefundable(_UNDECIDED if payment.received else None, param="paymentId")
    if len(waiting) > 1:
        names = ", ".join(f"{each.public_id} ({each.kind})" for each in waiting)
        raise DiscrepancyRequired(f"{DiscrepancyRequired.message} There are {names}.", param="discrepancyId")
    return waiting[0]


_UNDECIDED = "What was paid is too little so far: it can be given back once the time to pay the rest is over."


def _share_of_payment(payment: Payment, amount: Decimal | None) -> Share:
    digits = FIAT_DIGITS[payment.currency]
    try:
        asked = None if amount is None else to_units(amount, digits)
    except AmountNotExact:
        allowed = f"at most {digits} decimal places" if digits else "no decimal places"
        raise InvalidParameter(f"An amount in {payment.currency} has {allowed}.", param="amount") from None
    left = what_is_left(payment)
    share = take(asked, left, quote_of(payment))
    if share is None:
        param = None if asked is None else "amount"
        if not left.units:
            raise RefundExceedsPayment("All that was paid has been given back, or is reserved for it.", param=param)
        most = f"{from_units(left.fiat, digits)} {payment.currency}"
        raise RefundExceedsPayment(f"Of this payment, {most} can still be given back.", param=param)
    if not share.units:
        raise InvalidParameter(
            f"This is less than the smallest amount of {payment.cryptocurrency} that can be sent.", param="amount"
        )
    return share


def _new_refund(payment: Payment, request: NewRefund, *, fiat: int, amount: int) -> Refund:
    return Refund(
        id=ids.new_uuid(),
        merchant_id=payment.merchant_id,
        environment=payment.environment,
        payment=payment,
        fiat_amount=fiat,
        amount=amount,
        network=payment.network,
        cryptocurrency=payment.cryptocurrency,
        decimals=payment.decimals,
        reason=request.reason,
        metadata=request.metadata,
    )


def _new_refund_of(discrepancy: Discrepancy, payment: Payment, request: NewRefund) -> Refund:
    worth = fiat_share(int(discrepancy.amount), fiat_amount=payment.fiat_amount, due=int(payment.due))
    refund = _new_refund(payment, request, fiat=worth, amount=discrepancy.amount)
    refund.discrepancy = discrepancy
    refund.network, refund.cryptocurrency = discrepancy.network, discrepancy.asset
    refund.decimals = discrepancy.decimals
    if (refund.network, refund.cryptocurrency) != (payment.network, payment.cryptocurrency):
        refund.fiat_amount = None  # this coin was not quoted
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


def _locked(refund: Refund) -> Refund:
    """The refund as it is now, locked, with its payment, which is locked before it."""
    payment = refund_accounting.lock_payment(refund.payment_id)
    refund = Refund.objects.select_for_update().get(pk=refund.pk)
    refund.payment = payment
    return refund


def _record_change(refund: Refund, status: RefundStatus) -> None:
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
    _tell(refund, [events.ON_STATUS[status]])
    logger.info("refund changed", refund=refund.public_id, status=str(status), code=refund.failure_code)


def _tell(refund: Refund, types: Sequence[str]) -> None:
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
