"""Receipts of refunds, for anybody with the signed link of one, and the refunds on receipts of payments."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Q, Sum
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from config import ids
from config.money import format_crypto
from merchants.pages.branding import use_language_of
from payments.checkout.payer import purpose_of
from payments.models import Payment
from payments.receipts.documents import LISTED, Payload, coin_on_network, parties, price, transaction
from payments.receipts.pages import receipt_reply
from payments.states import OWN_KINDS
from refunds.models import Refund
from refunds.pages.destination import refund_of
from refunds.states import RefundStatus


@require_safe
def show_refund_receipt(request: HttpRequest, token: str, form: str = "") -> HttpResponse:
    """The receipt of a refund once it is paid: a page, or a file of the requested form."""
    refund, _link = refund_of(token)
    if refund.status != RefundStatus.COMPLETED:
        raise Http404
    use_language_of(refund.merchant, request)
    return receipt_reply(request, refund_payload(refund, timezone.now()), refund.merchant, form)


def refund_payload(refund: Refund, now: datetime) -> Payload:
    """The content of the receipt of a completed refund."""
    if refund.completed_at is None:
        raise ValueError("a refund that is not completed has no receipt")
    payment, decimals = refund.payment, refund.decimals
    received = format_crypto(refund.received, decimals)
    return {
        "kind": "refund",
        **parties(refund.merchant, refund.environment, now),
        "reference": refund.public_id,
        "payment": ids.PAYMENT.encode(refund.payment_id),
        "purpose": purpose_of(payment),
        "price": {} if refund.fiat_amount is None else price(refund.fiat_amount, payment.currency),
        **coin_on_network(refund.environment, refund.network, refund.cryptocurrency),
        "address": refund.destination,
        "memo": refund.memo,
        "amount": format_crypto(refund.amount, decimals),
        "tokenFee": format_crypto(refund.token_fee, decimals),
        "claimableBalance": refund.claimable_balance,
        "transactions": [transaction(refund.transaction_hash, received, refund.completed_at)],
    }


def refunds_paid(payment: Payment) -> tuple[list[tuple[str, int, str, datetime]], int, int]:
    """Of the completed refunds of what a payment received: the first ones, how many there are, and their sum.

    Money that did not count for it is not in its receipt, nor is what went back of it.
    """
    own = Q(discrepancy=None) | Q(discrepancy__kind__in=OWN_KINDS)
    completed = Refund.objects.filter(own, payment=payment, status=RefundStatus.COMPLETED).order_by("id")
    first = [
        (each.public_id, int(each.amount), each.transaction_hash, each.completed_at)
        for each in completed[:LISTED]
        if each.completed_at is not None
    ]
    return first, completed.count(), int(completed.aggregate(sum=Sum("amount"))["sum"] or 0)
