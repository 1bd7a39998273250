"""The page that ends the time of an underpaid payment early, and says first what a decision would do then."""

from __future__ import annotations

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from config import ids
from config.database.previews import preview
from config.errors import DomainError
from merchants.access.log_in.sessions import MemberRequest, member_required
from merchants.audit.recording import fields_of
from merchants.roles import Action
from payments.dashboard.decisions.rows import DecisionRow, ShownChanged, decision_row
from payments.models import Discrepancy, Payment
from payments.services import close_payment
from payments.states import DiscrepancyKind, DiscrepancyStatus


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.CLOSE_PAYMENT)
def close(request: MemberRequest, payment_id: str) -> HttpResponse:
    """Ends the time only while what the page has shown is what waits then; the decision has a page of its own."""
    own = Payment.objects.of(request.merchant, request.environment).defer("qr_png")
    payment = get_object_or_404(own, pk=ids.PAYMENT.decode(payment_id))
    row, why_not = None, ""
    try:
        if request.method == "POST":
            return _close_as_shown(request, payment)
        row = _preview(payment)
    except DomainError as refusal:
        why_not = refusal.message
    if request.method == "POST":
        messages.error(request, why_not)
        request.action.refused()
        return redirect("dashboard_payment", payment.public_id)
    context = {"section": "dashboard_payments", "payment": payment, "row": row, "why_not": why_not}
    return render(request, "dashboard/payments/close.html", context)


def _preview(payment: Payment) -> DecisionRow:
    """What would wait for a decision: the payment is closed, in a savepoint that is rolled back."""
    with preview():
        return _closed(payment)


def _closed(payment: Payment) -> DecisionRow:
    close_payment(payment)
    short = Discrepancy.objects.filter(
        payment=payment, kind=DiscrepancyKind.UNDERPAID, status=DiscrepancyStatus.OPEN
    ).select_related("payment__payment_link", "deposit")
    return decision_row(short.get())


def _close_as_shown(request: MemberRequest, payment: Payment) -> HttpResponse:
    with transaction.atomic():
        row = _closed(payment)
        if request.POST.get("shown") != row.fingerprint:
            raise ShownChanged
    request.action.done(payment, before=fields_of(payment, "expires_at"), after=fields_of(row.payment, "expires_at"))
    next_page = "dashboard_accept" if "accept" in request.POST else "dashboard_give_back"
    return redirect(next_page, row.discrepancy.public_id)
