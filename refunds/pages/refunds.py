"""The merchant's pages about refunds: the list, one refund, and the form for a new one."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from config import ids
from config.database.replica import reads_from_replica
from config.errors import DomainError
from config.pages.wording import fiat, metadata_rows, numbers_as, short_id
from merchants.access.log_in.sessions import MemberRequest, member_required
from merchants.access.log_in.single_use import close_form, open_form
from merchants.audit.recording import Fields, fields_of
from merchants.models import ApiKey, Merchant
from merchants.pages import curl
from merchants.pages.dashboard import reporting
from merchants.pages.listing import BY_STATUS_AND_DAY, ApiList, list_context
from merchants.roles import Action, Permission
from merchants.wording import exact
from payments.models import Discrepancy, Payment
from payments.monitoring.today.waiting import Kind
from payments.suspense import refund_accounting
from payments.suspense.destinations import family_of
from payments.transfers.states import HoldReason, PayoutStatus
from refunds import wording
from refunds.destination_links import destination_link_url
from refunds.models import REFUNDS, Refund
from refunds.pages.forms import OWN_MONEY, DestinationForm, RefundFilterForm, RefundForm
from refunds.plans.planning import NewRefund, returns_fees, what_is_left
from refunds.services import cancel_refund, create_refund, give_destination
from refunds.states import NamedBy, RefundStatus
from webhooks.events import catalogue as catalogue
from webhooks.models import Event
from webhooks.pages.presenters import Moment

SECTION = "dashboard_refunds"
USED_FORM = _("This form was already submitted. Here is its refund. Nothing was refunded twice.")

REFUND_COLUMNS = (
    {"label": _("Amount")},
    {"label": _("Status")},
    {"label": _("Sent as")},
    {"label": _("Created")},
    {"label": _("Payment")},
    {"label": _("Reference")},
)
COLUMNS_OF_PAYMENT = REFUND_COLUMNS[:4]


@dataclass(frozen=True)
class RefundRow:
    """A refund as lists show it."""

    refund: Refund

    @property
    def price(self) -> str:
        return wording.price(self.refund) or wording.coins(self.refund)

    @property
    def coins(self) -> str:
        return wording.coins(self.refund)

    @property
    def badge(self) -> str:
        return "warn" if self.refund.status == RefundStatus.REQUIRES_ACTION else self.refund.status

    @property
    def reference(self) -> str:
        return short_id(self.refund.public_id)

    @property
    def payment_reference(self) -> str:
        return short_id(self.refund.payment.public_id)


def refunds_to_see() -> list[Kind]:
    """Refunds of all merchants that wait for an address, for operators."""
    waiting, shown = Refund.objects.filter(status=RefundStatus.REQUIRES_ACTION), RefundStatus.REQUIRES_ACTION.value
    return [Kind("Refunds without an address", waiting, coin="cryptocurrency", shown={"status__exact": shown})]


def held_refunds(merchant: Merchant, environment: str) -> QuerySet[Refund]:
    """Refunds that wait until the payer's account holds the coin."""
    return Refund.objects.of(merchant, environment).filter(
        status=RefundStatus.PENDING, payout__status=PayoutStatus.HELD, payout__hold_reason=HoldReason.NO_TRUSTLINE
    )


# --- the list ----------------------------------------------------------------------------------------


@never_cache
@require_safe
@member_required
@reads_from_replica
def list_refunds(request: MemberRequest) -> HttpResponse:
    own = Refund.objects.of(request.merchant, request.environment)
    form = RefundFilterForm(request.GET)
    context: dict[str, object] = {"section": SECTION, "form": form, "columns": REFUND_COLUMNS, "rows": []}
    if form.is_valid():
        if searched := form.cleaned_data["q"]:
            refund_key, payment_key = ids.REFUND.decode(searched), ids.PAYMENT.decode(searched)
            if refund_key and own.filter(pk=refund_key).exists():
                return redirect("dashboard_refund", ids.REFUND.encode(refund_key))
            own = own.filter(payment=payment_key) if payment_key else own.none()
        context |= list_context(
            request,
            form,
            own.select_related("payment").defer("payment__qr_png"),
            kind=ids.REFUND,
            view="dashboard_refunds",
            row=RefundRow,
            counted=REFUNDS,
            api=ApiList("refunds", BY_STATUS_AND_DAY),
        )
    return render(request, "dashboard/refunds/list.html", context)


# --- a new one --------------------------------------------------------------------------------------


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.REQUEST_REFUND)
def refund_payment(request: MemberRequest, payment_id: str) -> HttpResponse:
    """The form for a new refund. Each form makes one: sending it again makes none."""
    payment = _own_payment(request, payment_id)
    left, waiting = what_is_left(payment), refund_accounting.open_discrepancies(payment)
    own_money = wording.own_money(payment, fiat_left=left.fiat, units_left=left.units)
    sources = [(OWN_MONEY, own_money)] if left.units else []
    sources += [(discrepancy.public_id, wording.suspense(discrepancy)) for discrepancy in waiting]
    context: dict[str, object] = {"section": SECTION, "payment": payment, "sources": sources}
    terms = wording.terms(returns_fee=returns_fees()) if left.units else []
    context["terms"] = [*terms, wording.NO_FEE] if waiting else terms
    if not sources:
        return render(request, "dashboard/refunds/new.html", context)
    form = RefundForm(
        request.POST or None,
        sources=sources,
        currency=payment.currency,
        most=fiat(left.fiat, payment.currency),
        families={family_of(payment.environment, name) for name in {payment.network, *_networks(waiting)}},
    )
    if request.method == "POST" and form.is_valid():
        if not close_form(request):
            messages.warning(request, USED_FORM)
            request.action.refused()
            return redirect(f"{reverse('dashboard_refunds')}?q={payment.public_id}")
        try:
            refund = create_refund(
                payment=payment,
                request=_request_of(form, waiting),
                requested_by=request.user.email,
            )
        except DomainError as refusal:
            form.add_refusal(refusal)
        else:
            request.action.done(refund, after=_logged(refund))
            messages.success(request, gettext("The refund is created, and its money is reserved."))
            return redirect("dashboard_refund", refund.public_id)
    context |= {"form": form, "form_id": open_form(request)}
    return render(request, "dashboard/refunds/new.html", context)


def _logged(refund: Refund) -> Fields:
    """The fields of a refund for the audit log."""
    with numbers_as("comma"):
        amount, coins = wording.price(refund), wording.coins(refund)
    return {
        "payment": refund.payment.public_id,
        "amount": amount,
        "coins": coins,
        **fields_of(refund, "destination", "memo", "reason"),
    }


def _networks(waiting: list[Discrepancy]) -> set[str]:
    return {discrepancy.network for discrepancy in waiting}


def _request_of(form: RefundForm, waiting: list[Discrepancy]) -> NewRefund:
    chosen = form.cleaned_data
    return NewRefund(
        amount=chosen.get("amount"),
        discrepancy=next((each for each in waiting if each.public_id == chosen["source"]), None),
        destination=chosen["destination"],
        memo=chosen.get("memo", ""),
        memo_type=form.memo_type,
        reason=chosen["reason"],
    )


# --- one refund --------------------------------------------------------------------------------------


@never_cache
@require_safe
@member_required
def show_refund(request: MemberRequest, refund_id: str) -> HttpResponse:
    return _show(request, _own_refund(request, refund_id))


@never_cache
@require_POST
@member_required(action=Action.NAME_REFUND_DESTINATION)
def name_destination(request: MemberRequest, refund_id: str) -> HttpResponse:
    refund = _own_refund(request, refund_id)
    form = _destination_form(refund, request.POST)
    if form.is_valid():
        try:
            named = give_destination(
                refund,
                address=form.cleaned_data["destination"],
                memo=form.cleaned_data.get("memo", ""),
                memo_type=form.memo_type,
                named_by=NamedBy.MERCHANT,
            )
        except DomainError as refusal:
            if refusal.param is None:
                messages.error(request, refusal.message)
                request.action.refused()
                return redirect("dashboard_refund", refund.public_id)
            form.add_refusal(refusal)
        else:
            request.action.done(refund, after=fields_of(named, "destination", "memo"))
            messages.success(request, gettext("The refund now has an address and will be sent there."))
            return redirect("dashboard_refund", refund.public_id)
    return _show(request, refund, form)


@never_cache
@require_POST
@member_required(action=Action.CANCEL_REFUND)
def cancel(request: MemberRequest, refund_id: str) -> HttpResponse:
    refund = _own_refund(request, refund_id)
    with reporting(request, gettext("The refund is cancelled. Its money is back where it was.")):
        cancelled = cancel_refund(refund)
        request.action.done(refund, before=fields_of(refund, "status"), after=fields_of(cancelled, "status"))
    return redirect("dashboard_refund", refund.public_id)


def _show(request: MemberRequest, refund: Refund, form: DestinationForm | None = None) -> HttpResponse:
    waits = refund.status == RefundStatus.REQUIRES_ACTION and request.member.may[Permission.REFUND]
    happened = Event.objects.of(request.merchant, request.environment).about(refund.pk)
    context = {
        "section": SECTION,
        "refund": refund,
        "row": RefundRow(refund),
        "facts": _facts(refund),
        "curl": curl.reading(refund.environment, f"refunds/{refund.public_id}"),
        "metadata": metadata_rows(refund.metadata),
        "moments": [Moment(event, EVENT_WORDS) for event in happened][::-1],
        "cancellable": _is_cancellable(refund),
        "failure": wording.failure(refund) if refund.status == RefundStatus.FAILED else None,
        "held": wording.held(refund),
        "to_claim": wording.to_claim(refund),
        "asked": wording.destination_needed(family_of(refund.environment, refund.network)),
        "link": destination_link_url(refund) if waits else None,
        "form": (form or _destination_form(refund)) if waits else None,
    }
    return render(request, "dashboard/refunds/detail.html", context)


def _destination_form(refund: Refund, data: QueryDict | None = None) -> DestinationForm:
    return DestinationForm(data, families=[family_of(refund.environment, refund.network)])


def _is_cancellable(refund: Refund) -> bool:
    if refund.status == RefundStatus.REQUIRES_ACTION:
        return True
    payout = refund.payout
    not_sent = payout is None or payout.status in (PayoutStatus.READY, PayoutStatus.HELD)
    return refund.status == RefundStatus.PENDING and not_sent


def _of_token_fee(refund: Refund) -> list[tuple[str, str]]:
    if not refund.token_fee:
        return []
    return [
        (gettext("Arrived"), wording.coins_of(refund, refund.received)),
        (gettext("Kept by the token"), wording.coins_of(refund, refund.token_fee)),
    ]


def _facts(refund: Refund) -> list[tuple[str, str]]:
    discrepancy = refund.discrepancy
    return [
        (gettext("Amount"), wording.price(refund)),
        (gettext("Sent as"), wording.coins(refund)),
        *_of_token_fee(refund),
        (gettext("Network"), wording.network(refund)),
        (gettext("Taken from"), wording.suspense(discrepancy) if discrepancy else gettext("The payment")),
        (gettext("Fee"), "" if discrepancy else gettext("Refunded") if refund.returns_fee else gettext("Kept")),
        (gettext("To"), refund.destination),
        (gettext("Memo"), f"{refund.memo}, {wording.MEMO_TYPES[wording.memo_type(refund)]}" if refund.memo else ""),
        (gettext("Address"), refund.get_named_by_display()),
        (gettext("On-chain transaction"), refund.transaction_hash),
        (gettext("Claimable balance"), refund.claimable_balance),
        (gettext("Failure"), refund.failure_message),
        (gettext("Reason"), refund.reason),
        (gettext("Requested by"), _who_asked(refund)),
        (gettext("Created"), exact(refund.created_at)),
        (gettext("Completed"), exact(refund.completed_at)),
    ]


def _who_asked(refund: Refund) -> str:
    """The person, or the name of the key; what both are called otherwise."""
    key = ApiKey.objects.filter(merchant=refund.merchant_id, public_key=refund.requested_by).first()
    return key.name if key and key.name else refund.requested_by


EVENT_WORDS = {
    catalogue.REFUND_CREATED: _("Created, and the money reserved"),
    catalogue.REFUND_REQUIRES_ACTION: _("Needs an address before it can be sent"),
    catalogue.REFUND_PENDING: _("Has an address, waiting to be sent"),
    catalogue.REFUND_PROCESSING: _("Signed, and on its way"),
    catalogue.REFUND_COMPLETED: _("Completed: final on its network"),
    catalogue.REFUND_FAILED: _("Failed: the money is back where it was"),
    catalogue.REFUND_CANCELLED: _("Cancelled: the money is back where it was"),
}


def _own_refund(request: MemberRequest, refund_id: str) -> Refund:
    own = Refund.objects.of(request.merchant, request.environment)
    return get_object_or_404(own.select_related("payment", "payout", "discrepancy"), pk=ids.REFUND.decode(refund_id))


def _own_payment(request: MemberRequest, payment_id: str) -> Payment:
    own = Payment.objects.of(request.merchant, request.environment)
    return get_object_or_404(own, pk=ids.PAYMENT.decode(payment_id))
