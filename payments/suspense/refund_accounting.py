"""Accounting of refunds: money taken from a payment and given back to it. Every function is part of the caller's
database transaction.

The caller holds the payment by `lock_payment`, so that no two refunds take the same money and none meets an assessment.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from config.errors import DomainError
from merchants.ledger.chart import AccountKind
from merchants.ledger.posting import InsufficientFunds, lock_accounts
from payments.chains.protocol.chain import Chain
from payments.chains.protocol.transfers import Identity
from payments.deposits import postings
from payments.deposits.assessment import status_after_refunds
from payments.deposits.recording import move_discrepancy, post, record_payment_events, save_payment
from payments.deposits.turnover.counting import share_of
from payments.models import Deposit, Discrepancy, Payment
from payments.screening.matching import released
from payments.states import OWN_KINDS, DiscrepancyKind, DiscrepancyStatus, PaymentStatus
from payments.suspense.acceptance import DiscrepancyResolved, UnderReview
from payments.suspense.recipient_checks import refusal_of
from webhooks.events import catalogue

MOST_SOURCES = 20
"""Where memos are in use, each incoming transfer is queried by itself: no more than so many."""


class RefundExceedsPayment(DomainError):
    code = "refund_exceeds_payment"
    message = "This is more than can still be refunded."


class InsufficientBalance(DomainError):
    code = "insufficient_balance"
    message = "The available balance in this coin does not cover the refund: it has been settled already, or is held."


def lock_payment(payment_id: uuid.UUID) -> Payment:
    """The payment as it is, which nobody else changes until the database transaction ends."""
    return Payment.objects.select_for_update().get(pk=payment_id)


def refundable(payment: Payment, discrepancies: Iterable[Discrepancy] | None = None) -> int:
    """Base units of the payment's own released money that are neither given back nor reserved for it.

    `discrepancies` are all of the payment's, where they have been read already.
    """
    if discrepancies is None:
        discrepancies = payment.discrepancies.filter(status=DiscrepancyStatus.REFUNDED, kind__in=OWN_KINDS)
    suspended = (each for each in discrepancies if each.status == DiscrepancyStatus.REFUNDED)
    from_suspense = sum(int(each.amount) for each in suspended if _is_own(each))
    left: int = payment.released - (payment.refunded - from_suspense)
    return max(0, left)


def open_discrepancies(payment: Payment) -> list[Discrepancy]:
    """Money of the payment in suspense that may be given back, oldest first."""
    waiting = payment.discrepancies.filter(status=DiscrepancyStatus.OPEN).order_by("id")
    return [each for each in waiting if may_be_given_back(payment, each)]


def may_be_given_back(payment: Payment, discrepancy: Discrepancy) -> bool:
    """True if an open discrepancy can be refunded; not when as much as came in has been given back already, or while
    it is in review."""
    return discrepancy.kind != DiscrepancyKind.REVIEW and not _exceeds(payment, discrepancy, discrepancy.amount)


def reserve(
    *,
    payment: Payment,
    discrepancy: Discrepancy | None,
    amount: int,
    payout_id: uuid.UUID,
    refund_public_id: str,
    returns_fee: bool = False,
    has_left: bool = False,
) -> None:
    """Set money aside in the payout's ledger account: the payment's own released money, or all of a discrepancy. Money
    that has left already is owed where the merchant's balance lacks it.

    With `returns_fee`, the next settlement gives back the fee on it, and takes it again should it come back.

    UnderReview while a sanctions list names who has sent it and nobody has released that, wherever it is to go.
    """
    if not has_left:
        _require_released(payment, discrepancy)
    if discrepancy is not None:
        _lock(discrepancy, payment, amount)
        if discrepancy.status != DiscrepancyStatus.OPEN:
            raise DiscrepancyResolved(param="discrepancyId")
        if discrepancy.kind == DiscrepancyKind.REVIEW:
            raise UnderReview(param="discrepancyId")
        move_discrepancy(discrepancy, DiscrepancyStatus.REFUNDED, resolved_by=refund_public_id)
    elif amount > refundable(payment):
        raise RefundExceedsPayment(param="amount")
    if _exceeds(payment, discrepancy, amount):
        raise RefundExceedsPayment(param="amount")
    left = None
    if has_left:
        own = payment.network, payment.cryptocurrency
        merchants = [postings.available_account(payment, *own), postings.receivable_account(payment, *own)]
        left = lock_accounts(merchants, environment=payment.environment)
    draft = postings.refund_reserved(
        payment, discrepancy, amount=amount, payout_id=payout_id, refund_public_id=refund_public_id, left=left
    )
    try:
        post([draft], payment, reference=refund_public_id, returns_fee=returns_fee)
    except InsufficientFunds as error:
        if error.account.kind != AccountKind.MERCHANT_AVAILABLE:
            raise
        raise InsufficientBalance(param="amount") from error
    if _is_own(discrepancy):
        _set_refunded(payment, payment.refunded + amount)


def _require_released(payment: Payment, discrepancy: Discrepancy | None) -> None:
    named = payment.deposits.exclude(evidence="")
    if discrepancy is not None and discrepancy.deposit_id:
        named = named.filter(pk=discrepancy.deposit_id)
    else:
        named = named.filter(booked_to=AccountKind.PAYMENT)
    if len(released(payment.environment, named)) < len(named):
        raise UnderReview


def give_back(
    *,
    payment: Payment,
    discrepancy: Discrepancy | None,
    amount: int,
    payout_id: uuid.UUID,
    refund_public_id: str,
    returns_fee: bool = False,
) -> None:
    """A reserved refund will not be paid: its money goes back to where it came from.

    Suspense that a reorganisation has undone in between is no place to go back to: its money was taken from the
    merchant then, who is given it now.
    """
    is_undone = False
    if discrepancy is not None:
        _lock(discrepancy, payment, amount)
        is_undone = discrepancy.status != DiscrepancyStatus.REFUNDED
        if not is_undone:
            move_discrepancy(discrepancy, DiscrepancyStatus.OPEN, resolved_by="")
    draft = postings.refund_voided(
        payment, discrepancy, amount=amount, payout_id=payout_id, refund_public_id=refund_public_id, is_undone=is_undone
    )
    post([draft], payment, reference=refund_public_id, returns_fee=returns_fee)
    if _is_own(discrepancy):
        _set_refunded(payment, payment.refunded - amount)


def complete(*, payment: Payment, discrepancy: Discrepancy | None, amount: int, refund_public_id: str) -> None:
    """Record that a refund has reached the payer for good, in the payment and in an event."""
    payment.returned += _counted_as_returned(discrepancy, amount)
    status = status_after_refunds(
        PaymentStatus(payment.status), paid=payment.released + payment.short, returned=payment.returned
    )
    save_payment(payment, status, fields=["returned"], counted=share_of(payment))
    record_payment_events(payment, [catalogue.PAYMENT_REFUNDED])


def _set_refunded(payment: Payment, refunded: int) -> None:
    payment.refunded = refunded
    save_payment(payment, PaymentStatus(payment.status), fields=["refunded"], counted=share_of(payment))
    record_payment_events(payment, [catalogue.PAYMENT_UPDATED])


def status_once_given_back(payment: Payment, discrepancy: Discrepancy) -> PaymentStatus:
    """The payment's status once all of the discrepancy has reached the payer for good."""
    returned = payment.returned + _counted_as_returned(discrepancy, discrepancy.amount)
    return status_after_refunds(PaymentStatus(payment.status), paid=payment.released + payment.short, returned=returned)


def _counted_as_returned(discrepancy: Discrepancy | None, amount: int) -> int:
    """The part of a refund that was paid for the payment itself: all but a surplus and money that never counted."""
    return amount if discrepancy is None or discrepancy.kind == DiscrepancyKind.UNDERPAID else 0


def sender_of(
    payment: Payment, discrepancy: Discrepancy | None, deposits: Iterable[Deposit] | None = None
) -> str | None:
    """The one address all of that money came from; None when there are several, or nobody knows.

    `deposits` are all of the payment's, where they have been read already.
    """
    senders = {sender for _, sender in _came_from(payment, discrepancy, deposits)}
    return senders.pop() or None if len(senders) == 1 else None


def pay_back_address(chain: Chain, payment: Payment, discrepancy: Discrepancy | None) -> str | None:
    """The address where that money can be paid back to without a question to the payer; None when it is unknown.

    All of it must have come from there. Queries the network, so call it outside of any database transaction.
    """
    sender = sender_of(payment, discrepancy)
    if sender is None or refusal_of(chain, sender) is not None:
        return None
    sources = [identity for identity, _ in _came_from(payment, discrepancy)]
    if not chain.profile.takes_memos:
        sources = sources[:1]  # the address alone decides
    if len(sources) > MOST_SOURCES:
        return None
    found = {chain.hot_wallet.pay_back_address(source, sender) for source in sources}
    return found.pop() if len(found) == 1 else None


def _came_from(
    payment: Payment, discrepancy: Discrepancy | None, deposits: Iterable[Deposit] | None = None
) -> list[tuple[Identity, str]]:
    """The incoming transfers of that money, each with its sender."""
    if discrepancy is not None and discrepancy.deposit is not None:
        found = [discrepancy.deposit]
    elif deposits is not None:
        found = [deposit for deposit in deposits if deposit.booked_to == AccountKind.PAYMENT]
    else:
        found = list(payment.deposits.filter(booked_to=AccountKind.PAYMENT).order_by("id"))
    return [((each.transaction_hash, each.ordinal), each.sender) for each in found]


def _is_own(discrepancy: Discrepancy | None) -> bool:
    """True if the money is a part of what the payment received."""
    return discrepancy is None or discrepancy.kind in OWN_KINDS


def _exceeds(payment: Payment, discrepancy: Discrepancy | None, amount: int) -> bool:
    """Money that came, went back, was undone by a reorganisation and came once more goes back once only."""
    return _is_own(discrepancy) and payment.refunded + amount > payment.received


def _lock(discrepancy: Discrepancy, payment: Payment, amount: int) -> None:
    discrepancy.refresh_from_db(from_queryset=Discrepancy.objects.select_for_update())
    if discrepancy.payment_id != payment.pk or discrepancy.amount != amount:
        raise RuntimeError(f"{discrepancy} is not {amount} of {payment}")
