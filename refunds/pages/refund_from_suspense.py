"""Giving back money that waits for a decision, as the merchant's pages offer it; and the refunds that wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from config.errors import DomainError
from merchants.access.log_in.sessions import MemberRequest, member_required
from merchants.access.log_in.single_use import close_form, open_form
from merchants.audit.recording import OngoingAction, fields_of
from merchants.models import Merchant
from merchants.roles import Action
from payments.dashboard.decisions import pages
from payments.dashboard.decisions.rows import (
    DecisionRow,
    GivingBack,
    RecordRow,
    Waiting,
    decision_row,
    locked_as_shown,
)
from payments.dashboard.decisions.several import Choice, Sent, decide_several
from payments.models import Deposit, Discrepancy, Payment
from payments.states import DiscrepancyStatus
from payments.suspense import refund_accounting
from payments.suspense.destinations import family_of
from refunds import wording
from refunds.models import Refund
from refunds.pages.forms import GiveBackForm
from refunds.plans.planning import NewRefund, plan_refund_of
from refunds.services import create_refund
from refunds.states import RefundStatus


def giving_back(discrepancy: Discrepancy, payment: Payment, deposits: Sequence[Deposit]) -> GivingBack:
    """Preview of giving a discrepancy back, by the steps that creating its refund takes; writes nothing."""
    planned = plan_refund_of(discrepancy, payment)
    return GivingBack(
        amount=planned.amount,
        fiat=planned.fiat_amount,
        sender=refund_accounting.sender_of(payment, discrepancy, deposits) or "",
        is_possible=refund_accounting.may_be_given_back(payment, discrepancy),
        status=refund_accounting.status_once_given_back(payment, discrepancy),
    )


def refunds_waiting(merchant: Merchant, environment: str) -> Waiting:
    """Refunds that wait until a destination is named."""
    waiting = Refund.objects.of(merchant, environment).filter(status=RefundStatus.REQUIRES_ACTION)
    return Waiting(waiting.select_related("payment").defer("payment__qr_png"), _waiting_row)


def _waiting_row(refund: Refund) -> RecordRow:
    return RecordRow(
        key=refund.pk,
        label=_("Refund without an address"),
        title=wording.price(refund) or wording.coins(refund),
        happened=_("%(amount)s on %(network)s are set aside for the payer.")
        % {"amount": wording.coins(refund), "network": wording.network(refund)},
        what_next=wording.destination_needed(family_of(refund.environment, refund.network)),
        url=reverse("dashboard_refund", args=[refund.public_id]),
        action=_("Enter an address"),
        created_at=refund.created_at,
    )


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.GIVE_MONEY_BACK)
def give_back(request: MemberRequest, discrepancy_id: str) -> HttpResponse:
    """Show the effects of giving the money back; each form makes one refund, and only of what it has shown."""
    discrepancy = pages.own_discrepancy(request, discrepancy_id)
    if discrepancy.status != DiscrepancyStatus.OPEN:
        return pages.decided_already(request, discrepancy)
    families = [family_of(discrepancy.environment, discrepancy.network)]
    form = GiveBackForm(request.POST or None, families=families)
    if request.method == "POST" and form.is_valid():
        if not close_form(request):
            messages.warning(request, str(pages.USED_FORM))
            request.action.refused()
            return redirect("dashboard_decisions")
        if (refund := _give_back_as_shown(request, discrepancy, form)) is not None:
            messages.success(request, _("The refund is created, and its money is reserved."))
            return redirect("dashboard_refund", refund.public_id)
        discrepancy = pages.own_discrepancy(request, discrepancy_id)
    context = {
        "section": pages.SECTION,
        "row": decision_row(discrepancy, previews=False),
        "form": form,
        "form_id": open_form(request),
    }
    return render(request, "dashboard/decisions/give_back.html", context, status=400 if form.errors else 200)


def _give_back_as_shown(request: MemberRequest, discrepancy: Discrepancy, form: GiveBackForm) -> Refund | None:
    """The refund; None when it was refused, or would be something else by now than what the page has shown."""
    asked = form.cleaned_data
    to = NewRefund(
        destination=asked["destination"],
        memo=asked.get("memo", ""),
        memo_type=form.memo_type,
        reason=asked["reason"],
    )
    try:
        return _give_back(request.action, discrepancy, to, shown=asked["shown"], by=request.user.email)
    except DomainError as refusal:
        form.add_refusal(refusal)
        return None


def _give_back(action: OngoingAction, discrepancy: Discrepancy, to: NewRefund, *, shown: str, by: str) -> Refund:
    """Give back what a page has shown, and tell the audit log; ShownChanged when that would be something else now."""
    with transaction.atomic():
        row = locked_as_shown(discrepancy, shown, previews=False)
        request = replace(to, discrepancy=row.discrepancy)
        refund = create_refund(payment=row.payment, request=request, requested_by=by)
    named = {"refund": refund.public_id, **fields_of(refund, "destination", "memo", "reason")}
    action.done(discrepancy, after=pages.logged(discrepancy) | named)
    return refund


# --- several at once -----------------------------------------------------------------------------------


def _give_one_back(request: MemberRequest, action: OngoingAction, discrepancy: Discrepancy, case: Sent) -> None:
    _give_back(action, discrepancy, NewRefund(reason=case.reason), shown=case.shown, by=request.user.email)


def _why_not_together(row: DecisionRow) -> str:
    if row.giving_back.is_possible and not row.giving_back.sender:
        return _("It did not come from one address: refund it by itself.")
    return ""


GIVING_BACK = Choice(
    title=gettext_lazy("Refund together"),
    label=gettext_lazy("Refund all of them"),
    done=gettext_lazy("The refund is created, and its money is reserved."),
    note=gettext_lazy(
        "The network is asked first whether an address can be paid back; if it cannot, nothing is sent there and you "
        "are asked for another one. You can cancel a refund until it is sent."
    ),
    words=lambda row: row.if_given_back,
    is_possible=lambda row: row.giving_back.is_possible and bool(row.giving_back.sender),
    why_not=_why_not_together,
    decide=_give_one_back,
    previews=False,
    asks_why=False,
)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.GIVE_MONEY_BACK, several=True)
def give_several_back(request: MemberRequest) -> HttpResponse:
    return decide_several(request, GIVING_BACK)
