"""The refund that a request would make: of which money, and how much of what is left of it. Stores nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db.models import Sum

from config import ids
from config.errors import DomainError, InvalidParameter
from config.money import FIAT_DIGITS, AmountNotExact, fiat_share, from_units, to_units
from payments.models import Discrepancy, Payment
from payments.states import DiscrepancyStatus
from payments.suspense import refund_accounting
from payments.suspense.acceptance import DiscrepancyResolved
from payments.suspense.refund_accounting import RefundExceedsPayment
from refunds.models import Refund
from refunds.plans.amounts import Quote, Share, all_that_is_left, take


class PaymentNotRefundable(DomainError):
    code = "payment_not_refundable"
    message = "Nothing has been paid that could be refunded."


class DiscrepancyRequired(DomainError):
    code = "discrepancy_required"
    message = "This payment has several open discrepancies. Choose the one to refund with discrepancyId."


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


def quote_of(payment: Payment) -> Quote:
    """The payment's rate, with the digits of its currency and of its coin."""
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
    refund = new_refund(payment, request, fiat=share.fiat, amount=share.units)
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


def new_refund(payment: Payment, request: NewRefund, *, fiat: int, amount: int) -> Refund:
    """A refund in the payment's own coin, not stored."""
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
    refund = new_refund(payment, request, fiat=worth, amount=discrepancy.amount)
    refund.discrepancy = discrepancy
    refund.network, refund.cryptocurrency = discrepancy.network, discrepancy.asset
    refund.decimals = discrepancy.decimals
    if (refund.network, refund.cryptocurrency) != (payment.network, payment.cryptocurrency):
        refund.fiat_amount = None  # this coin was not quoted
    return refund
