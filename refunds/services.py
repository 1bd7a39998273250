"""Every change of a refund: create it, name its destination, cancel it, and follow its payout to the end.

Locks are taken in this order: payment, refund, payout, ledger accounts.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet, Sum
from django.utils import timezone

from config import ids
from config.celery import wake
from config.errors import DomainError, InvalidParameter
from config.installation.services import current_standstill, found_by_resume
from config.money import FIAT_DIGITS, AmountNotExact, fiat_share, from_units, to_units
from merchants import counting
from merchants.ledger.chart import AccountKind
from payments.chains import registry
from payments.models import Deposit, Discrepancy, PayerContact, Payment
from payments.states import DiscrepancyStatus
from payments.suspense import refund_accounting
from payments.suspense.acceptance import DiscrepancyResolved
from payments.suspense.destinations import Destination, parse_destination
from payments.suspense.refund_accounting import RefundExceedsPayment
from payments.transfers.models import Payout
from payments.transfers.owners import attribute_payout
from payments.transfers.payouts import PayoutNotCancellable, cancel_payout, request_payout
from payments.transfers.postings import payout_account
from payments.transfers.states import PayoutStatus
from refunds import events
from refunds.amounts import Quote, Share, all_that_is_left, take
from refunds.models import REFUNDS, Refund
from refunds.records import refund_record
from refunds.states import REFUND_MOVES, SENT, WAITING, NamedBy, RefundStatus
from webhooks.events.recording import build_event, record_events

logger = structlog.get_logger(__name__)


class PaymentNotRefundable(DomainError):
    code = "payment_not_refundable"
    message = "Nothing has been paid that could be refunded."


class DiscrepancyRequired(DomainError):
    code = "discrepancy_required"
    message = "This payment has several open discrepancies. Choose the one to refund with discrepancyId."


class RefundNotCancellable(DomainError):
    code = "refund_not_cancellable"
    message = "A refund can be cancelled only until it is sent."


class RefundHasDestination(DomainError):
    code = "refund_has_destination"
    message = "This refund already has an address, and it cannot be changed."


@dataclass(frozen=True, slots=True)
class NewRefund:
    """The request of a refund. `amount` is in the payment's currency; None stands for all that is left.

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
        _record_events_of(refund, [events.CREATED, *([events.REQUIRES_ACTION] if waits else [])])
        if destination is None and not waits:
            wake("refunds.resolve_destinations")
        return refund


def resolve_destination(refund: Refund) -> Refund:
    """Resolve the sender: either send the refund to its address, or wait for an address.

    It queries the network, so call it outside of any database transaction; ChainUnavailable changes nothing.
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


# --- found after a restore ----------------------------------------------------------------------------


FOUND_OWNERS = tuple(each.prefix for each in (ids.PAYMENT, ids.DISCREPANCY, ids.REFUND))


def possible_refunds(payouts: Sequence[Payout]) -> dict[uuid.UUID, set[str]]:
    """Refunds that found payouts may have paid, by the payouts' keys: to who had sent it, of money that covers them."""
    names: dict[uuid.UUID, set[str]] = {each.pk: set() for each in payouts}
    for environment, network in {(each.environment, each.network) for each in payouts}:
        here = [each for each in payouts if (each.environment, each.network) == (environment, network)]
        senders = {each.recipient for each in here}
        came = Deposit.objects.filter(environment=environment, network=network, sender__in=senders)
        by_sender: defaultdict[tuple[str, str], list[Deposit]] = defaultdict(list)
        for deposit in came.select_related("payment").prefetch_related("discrepancies"):
            by_sender[deposit.sender, deposit.asset].append(deposit)
        for payout in here:
            for deposit in by_sender[payout.recipient, payout.asset]:
                names[payout.pk] |= _possible_of(deposit, payout)
                if len(names[payout.pk]) > 1:  # ambiguous, and an exchange may have sent thousands
                    break
    return names


def _possible_of(deposit: Deposit, payout: Payout) -> set[str]:
    payment, amount = deposit.payment, int(payout.amount)
    if payment is None:  # of a payment that the database lacks: the part that was given back is unknown
        return {each.public_id for each in deposit.discrepancies.all()}
    if amount > max(int(payment.received), int(deposit.amount)):
        return set()
    names = {
        each.public_id
        for each in refund_accounting.open_discrepancies(payment)
        if (each.network, each.asset, int(each.amount)) == (payout.network, payout.asset, amount)
        and refund_accounting.sender_of(payment, each) == payout.recipient
    }
    if deposit.booked_to != AccountKind.PAYMENT or refund_accounting.sender_of(payment, None) != payout.recipient:
        return names
    waiting = Refund.objects.filter(payment=payment, payout=None, amount=amount, status__in=WAITING)
    if waits := {each.public_id for each in waiting}:
        return names | waits
    is_covered = amount <= refund_accounting.refundable(payment)
    return names | ({payment.public_id} if is_covered else set())


def refund_found(payout: Payout, name: str) -> None:
    """Make the refund that a found payout has paid and that the database lacks: of a payment, of money in suspense, or
    one that still waits for its destination.

    A refund of as much of the same payment that was requested since is cancelled, if it is not sent. InvalidParameter
    when there is nothing of this name, or it is of other money; RefundExceedsPayment, DiscrepancyResolved.
    """
    refund = _refund_of(payout, name)
    payment, discrepancy = refund.payment, refund.discrepancy
    if refund.payout_id is None and not refund._state.adding:
        refund = _locked(refund)
    else:
        for again in _requested_again(payout, payment):
            cancel_refund(again)
        payment.refresh_from_db()
        refund_accounting.reserve(
            payment=payment,
            discrepancy=discrepancy,
            amount=refund.amount,
            payout_id=refund.id,
            refund_public_id=refund.public_id,
            returns_fee=refund.returns_fee,
            has_left=True,
        )
    reserved = payout_account(payout.network, payout.asset, refund.id)
    attribute_payout(payout, reference=refund.public_id, merchant_id=refund.merchant_id, reserved=reserved)
    is_sender = refund_accounting.sender_of(payment, discrepancy) == payout.recipient
    refund.destination, refund.memo, refund.payout = payout.recipient, payout.memo, payout
    refund.named_by = NamedBy.SENDER if is_sender else NamedBy.MERCHANT
    if refund._state.adding:
        refund.save(force_insert=True)
        counting.record_created(
            REFUNDS,
            merchant_id=refund.merchant_id,
            environment=refund.environment,
            key=refund.id,
            status=refund.status,
        )
        _record_events_of(refund, [events.CREATED])
    else:
        _record_change(refund, RefundStatus.PENDING)
    follow_payout(refund)


def _refund_of(payout: Payout, name: str) -> Refund:
    """The refund of this name, or a new one of the payment or of the money in suspense, not stored."""
    refund = Refund.objects.filter(pk__in=[ids.REFUND.decode(name)], payout=None, status__in=WAITING).first()
    discrepancy = Discrepancy.objects.filter(pk__in=[ids.DISCREPANCY.decode(name)]).exclude(payment=None).first()
    key = discrepancy.payment_id if discrepancy else ids.PAYMENT.decode(name)
    if key is not None and Payment.objects.filter(pk=key).exists():
        payment = refund_accounting.lock_payment(key)
        if discrepancy is not None:
            refund = _new_refund_of(discrepancy, payment, NewRefund())
        else:
            left, amount = what_is_left(payment), int(payout.amount)
            fiat = left.fiat if amount == left.units else min(left.fiat, quote_of(payment).fiat_for(amount))
            refund = _new_refund(payment, NewRefund(), fiat=fiat, amount=amount)
            refund.returns_fee = returns_fees()
        refund.status, refund.requested_by = RefundStatus.PENDING, "Found after a restore"
    same = (payout.environment, payout.network, payout.asset, int(payout.amount))
    if refund is None or same != (refund.environment, refund.network, refund.cryptocurrency, int(refund.amount)):
        raise InvalidParameter("There is no such payment, refund or money in suspense of this coin.", param="owner")
    return refund


def _requested_again(payout: Payout, payment: Payment) -> QuerySet[Refund]:
    """Refunds of the same amount that were requested since the end of the backup, and are not sent yet."""
    sent_by = payout.transfer.transaction_hash if payout.transfer else ""
    restored = current_standstill() or found_by_resume(sent_by)
    since = payout.pk if restored is None else ids.first_uuid_at(restored.complete_until)
    again = Refund.objects.filter(payment=payment, amount=payout.amount, status__in=WAITING, pk__gte=since)
    return again.exclude(payout__status__in=[PayoutStatus.SENDING, PayoutStatus.PAID]).order_by("pk")


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
    """The refund that a request would make, not stored; a DomainError if its amount or source is wrong."""
    discrepancy = _source(payment, request)
    if discrepancy is not None:
        return _new_refund_of(discrepancy, payment, request)
    share = _share_of_payment(payment, request.amount)
    refund = _new_refund(payment, request, fiat=share.fiat, amount=share.units)
    refund.returns_fee = returns_fees()
    return refund


def returns_fees() -> bool:
    """True if a refund that is made now gives back the fee. There is none on money in suspense."""
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
            "Money that waits for a decision is refunded in full: leave out the amount.", param="amount"
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
        requested = None if amount is None else to_units(amount, digits)
    except AmountNotExact:
        allowed = f"at most {digits} decimal places" if digits else "no decimal places"
        raise InvalidParameter(f"An amount in {payment.currency} has {allowed}.", param="amount") from None
    left = what_is_left(payment)
    share = take(requested, left, quote_of(payment))
    if share is None:
        param = None if requested is None else "amount"
        if not left.units:
            raise RefundExceedsPayment("Everything that was paid is refunded, or reserved for refunds.", param=param)
        most = f"{from_units(left.fiat, digits)} {payment.currency}"
        raise RefundExceedsPayment(f"Of this payment, {most} can still be refunded.", param=param)
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
    _record_events_of(refund, [events.ON_STATUS[status]])
    if status in SENT:
        PayerContact.objects.notify(refund.payment_id)
    logger.info("refund changed", refund=refund.public_id, status=str(status), code=refund.failure_code)


def _record_events_of(refund: Refund, types: Sequence[str]) -> None:
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
