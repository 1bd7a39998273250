"""Refunds that the network shows and the database lacks, after a restore: which they may be, and making one."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Sequence

from django.db.models import QuerySet

from config import ids
from config.errors import InvalidParameter
from config.installation.services import current_standstill, found_by_resume
from merchants.ledger.chart import AccountKind
from payments.models import Deposit, Discrepancy, Payment
from payments.suspense import refund_accounting
from payments.transfers.models import Payout
from payments.transfers.owners import attribute_payout
from payments.transfers.postings import payout_account
from payments.transfers.states import PayoutStatus
from refunds import events
from refunds.models import Refund
from refunds.plans.planning import NewRefund, new_refund, plan_refund_of, quote_of, returns_fees, what_is_left
from refunds.services import cancel_refund, follow_payout, insert_refund, lock_refund, record_change, reserve
from refunds.states import WAITING, NamedBy, RefundStatus

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
        refund = lock_refund(refund)
    else:
        for again in _requested_again(payout, payment):
            cancel_refund(again)
        payment.refresh_from_db()
        reserve(refund, payment, has_left=True)
    reserved = payout_account(payout.network, payout.asset, refund.id)
    attribute_payout(payout, reference=refund.public_id, merchant_id=refund.merchant_id, reserved=reserved)
    is_sender = refund_accounting.sender_of(payment, discrepancy) == payout.recipient
    refund.destination, refund.memo, refund.payout = payout.recipient, payout.memo, payout
    refund.named_by = NamedBy.SENDER if is_sender else NamedBy.MERCHANT
    if refund._state.adding:
        insert_refund(refund, [events.CREATED])
    else:
        record_change(refund, RefundStatus.PENDING)
    follow_payout(refund)


def _refund_of(payout: Payout, name: str) -> Refund:
    """The refund of this name, or a new one of the payment or of the money in suspense, not stored."""
    refund = Refund.objects.filter(pk__in=[ids.REFUND.decode(name)], payout=None, status__in=WAITING).first()
    discrepancy = Discrepancy.objects.filter(pk__in=[ids.DISCREPANCY.decode(name)]).exclude(payment=None).first()
    key = discrepancy.payment_id if discrepancy else ids.PAYMENT.decode(name)
    if key is not None and Payment.objects.filter(pk=key).exists():
        payment = refund_accounting.lock_payment(key)
        if discrepancy is not None:
            refund = plan_refund_of(discrepancy, payment)
        else:
            left, amount = what_is_left(payment), int(payout.amount)
            fiat = left.fiat if amount == left.units else min(left.fiat, quote_of(payment).fiat_for(amount))
            refund = new_refund(payment, NewRefund(), fiat=fiat, amount=amount)
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
