"""Money in suspense that is too little to decide about: the merchant's, or the house's where it names no payment.

A surplus as small as that never comes here: its assessment gives it to the merchant with the price.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import F, Q, QuerySet

from config.errors import DomainError
from config.periodic.containment import contained
from payments.deposits.assessment import crumb_limit
from payments.models import Discrepancy, Payment
from payments.states import DiscrepancyKind, DiscrepancyStatus, PaymentStatus
from payments.suspense.acceptance import accept_discrepancy, counts_when_accepted, take_discrepancy

DECIDED_BY = "policy"
BATCH = 200
_SCALES = range(2, 19)

EXTRA = (DiscrepancyKind.OVERPAID, DiscrepancyKind.WRONG_TOKEN, DiscrepancyKind.WRONG_NETWORK)
"""Suspense kinds that are never part of the price."""

NOBODYS = (DiscrepancyKind.NO_MEMO, DiscrepancyKind.UNASKED)


def book_crumbs() -> int:
    """Decide about open discrepancies below a hundredth of their coin; returns how many."""
    done = 0
    for discrepancy in _open_crumbs().order_by("id")[:BATCH]:
        with contained("crumb could not be booked", expected=(DomainError,), discrepancy=discrepancy.public_id):
            done += _book(discrepancy)
    return done


def _open_crumbs() -> QuerySet[Discrepancy]:
    """Late money counts for a payment that lacks some, and waits then, as short money does."""
    is_small = Q()
    for decimals in _SCALES:
        is_small |= Q(decimals=decimals, amount__lt=crumb_limit(decimals))
    has_ended = Q(payment__closed_at__isnull=False) | Q(payment__released__gte=F("payment__due"))
    lacks_nothing = Q(kind=DiscrepancyKind.LATE) & (has_ended | Q(payment__status=PaymentStatus.CANCELLED))
    of_payments = Q(payment__isnull=False) & (Q(kind__in=EXTRA) | lacks_nothing)
    # Nobody's crumbs are the house's, but for those of somebody whom a sanctions list names: people decide about them.
    of_nobody = Q(payment__isnull=True, deposit__isnull=False, deposit__evidence="", kind__in=NOBODYS)
    return Discrepancy.objects.filter(is_small & (of_payments | of_nobody), status=DiscrepancyStatus.OPEN)


def _book(discrepancy: Discrepancy) -> bool:
    """Book it; False if it was not booked. The payment's shortage is read again under its lock: it may have been
    reopened since."""
    if discrepancy.payment_id is None:
        take_discrepancy(discrepancy, resolved_by=DECIDED_BY)
        return True
    with transaction.atomic():
        payment = Payment.objects.select_for_update().get(pk=discrepancy.payment_id)
        if counts_when_accepted(discrepancy, payment):
            return False
        accept_discrepancy(discrepancy, resolved_by=DECIDED_BY)
        return True
