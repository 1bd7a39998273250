"""The merchant's pages about refunds: the list, one refund, and the form that asks for one."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.db.models import Q
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from config import ids
from config.errors import DomainError
from merchants import counting
from merchants.access.sessions import MemberRequest, member_required
from merchants.access.single_use import close_form, open_form
from merchants.listing import list_page
from merchants.models import Role
from merchants.wording import exact
from payments import refunding
from payments.models import Discrepancy, Payment
from payments.transfers.states import PayoutStatus
from payments.wording import metadata_rows
from refunds import wording
from refunds.claims import claim_url
from refunds.destinations import takes_memos
from refunds.forms import OWN_MONEY, DestinationForm, RefundFilterForm, RefundForm
from refunds.models import REFUNDS, Refund
from refunds.services import NewRefund, cancel_refund, create_refund, give_destination, what_is_left
from refunds.states import NamedBy, RefundStatus
from webhooks import events as catalogue
from webhooks.models import Event
from webhooks.showing import Moment

SECTION = "dashboard_refunds"
USED_FORM = "That form was already used: this is what came of it. Nothing was refunded a second time."

REFUND_COLUMNS = (
    {"label": "Amount"},
    {"label": "Status"},
    {"label": "Sent as"},
    {"label": "Created"},
    {"label": "Payment"},
    {"label": "Reference"},
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
        return f"ref_…{self.refund.public_id[-8:]}"

    @property
    def payment_reference(self) -> str:
        return f"pay_…{self.refund.payment.public_id[-8:]}"


@dataclass(frozen=True)
class RefundsOfPayment:
    """The refunds of a payment, for its page, newest first."""

    columns: tuple[dict[str, str], ...]
    rows: list[RefundRow]
    is_possible: bool
    """Whether something is left to give back."""


def refunds_of(payment: Payment) -> RefundsOfPayment:
    refunds = payment.refunds.select_related("payment").defer("payment__qr_png").order_by("-id")
    possible = what_is_left(payment).units > 0 or bool(refunding.open_discrepancies(payment))
    return RefundsOfPayment(COLUMNS_OF_PAYMENT, [RefundRow(refund) for refund in refunds], possible)


# --- the list ----------------------------------------------------------------------------------------


@never_cache
@require_safe
@member_required
def list_refunds(request: MemberRequest) -> HttpResponse:
    own = Refund.objects.of(request.merchant, request.environment)
    form = RefundFilterForm(request.GET)
    context: dict[str, object] = {"section": SECTION, "form": form, "columns": REFUND_COLUMNS, "rows": []}
    if not form.is_valid():
        return render(request, "dashboard/refunds/list.html", context)
    asked, keys = form.cleaned_data, form.keys()
    searched: str = asked["q"]
    refund_key, payment_key = ids.REFUND.decode(searched), ids.PAYMENT.decode(searched)
    if refund_key and own.filter(pk=refund_key).exists():
        return redirect("dashboard_refund", ids.REFUND.encode(refund_key))
    status: str = asked["status"]
    condition = keys.condition & (Q(status=status) if status else Q())
    if searched:
        condition &= Q(payment=payment_key) if payment_key else Q(pk=None)
        total = own.filter(condition).count()
    else:
        total = counting.total(
            REFUNDS,
            merchant_id=request.merchant.pk,
            environment=request.environment,
            statuses=[status] if status else None,
            keys=keys,
        )
    matching = own.filter(condition).select_related("payment").defer("payment__qr_png")
    page = list_page(request.GET, matching, public_id=ids.REFUND, view="dashboard_refunds")
    rows = [RefundRow(refund) for refund in page.records]
    context |= {
        "rows": rows,
        "filtered": any(asked.values()),
        "words": f"{len(rows)} of {total:,} refunds" if total != 1 else "1 refund",
        "first_url": page.first_url,
        "next_url": page.next_url,
    }
    return render(request, "dashboard/refunds/list.html", context)


# --- asking for one ----------------------------------------------------------------------------------


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(role=Role.DEVELOPER)
def refund_payment(request: MemberRequest, payment_id: str) -> HttpResponse:
    """Each form makes one refund: sending it again, by reloading or by a second press, makes none."""
    payment = _own_payment(request, payment_id)
    left, waiting = what_is_left(payment), refunding.open_discrepancies(payment)
    own_money = wording.own_money(payment, fiat_left=left.fiat, units_left=left.units)
    sources = [(OWN_MONEY, own_money)] if left.units else []
    sources += [(discrepancy.public_id, wording.suspense(discrepancy)) for discrepancy in waiting]
    context: dict[str, object] = {"section": SECTION, "payment": payment, "sources": sources}
    if not sources:
        return render(request, "dashboard/refunds/new.html", context)
    form = RefundForm(
        request.POST or None,
        sources=sources,
        currency=payment.currency,
        most=wording.fiat(left.fiat, payment.currency),
        takes_memo=any(takes_memos(payment.environment, name) for name in {payment.network, *_networks(waiting)}),
    )
    if request.method == "POST" and form.is_valid():
        if not close_form(request):
            messages.warning(request, USED_FORM)
            return redirect(f"{reverse('dashboard_refunds')}?q={payment.public_id}")
        try:
            refund = create_refund(
                payment=payment,
                request=_asked(form, waiting),
                requested_by=request.user.email,
            )
        except DomainError as refusal:
            form.add_refusal(refusal)
        else:
            messages.success(request, "The refund is made, and its money is reserved.")
            return redirect("dashboard_refund", refund.public_id)
    context |= {"form": form, "form_id": open_form(request)}
    return render(request, "dashboard/refunds/new.html", context)


def _networks(waiting: list[Discrepancy]) -> set[str]:
    return {discrepancy.network for discrepancy in waiting}


def _asked(form: RefundForm, waiting: list[Discrepancy]) -> NewRefund:
    asked = form.cleaned_data
    return NewRefund(
        amount=asked.get("amount"),
        discrepancy=next((each for each in waiting if each.public_id == asked["source"]), None),
        destination=asked["destination"],
        memo=asked.get("memo", ""),
        reason=asked["reason"],
    )


# --- one refund --------------------------------------------------------------------------------------


@never_cache
@require_safe
@member_required
def show_refund(request: MemberRequest, refund_id: str) -> HttpResponse:
    return _show(request, _own_refund(request, refund_id))


@never_cache
@require_POST
@member_required(role=Role.DEVELOPER)
def name_destination(request: MemberRequest, refund_id: str) -> HttpResponse:
    refund = _own_refund(request, refund_id)
    form = _destination_form(refund, request.POST)
    if form.is_valid():
        try:
            give_destination(
                refund,
                address=form.cleaned_data["destination"],
                memo=form.cleaned_data.get("memo", ""),
                named_by=NamedBy.MERCHANT,
            )
        except DomainError as refusal:
            if refusal.param is None:
                messages.error(request, refusal.message)
                return redirect("dashboard_refund", refund.public_id)
            form.add_refusal(refusal)
        else:
            messages.success(request, "The refund has an address now and is sent there.")
            return redirect("dashboard_refund", refund.public_id)
    return _show(request, refund, form)


@never_cache
@require_POST
@member_required(role=Role.DEVELOPER)
def cancel(request: MemberRequest, refund_id: str) -> HttpResponse:
    refund = _own_refund(request, refund_id)
    try:
        cancel_refund(refund)
    except DomainError as refusal:
        messages.error(request, refusal.message)
    else:
        messages.success(request, "The refund is cancelled. Its money is back where it was.")
    return redirect("dashboard_refund", refund.public_id)


def _show(request: MemberRequest, refund: Refund, form: DestinationForm | None = None) -> HttpResponse:
    may_write = request.member.role != Role.VIEWER
    waits = refund.status == RefundStatus.REQUIRES_ACTION and may_write
    happened = Event.objects.of(request.merchant, request.environment).about(refund.pk)
    context = {
        "section": SECTION,
        "may_write": may_write,
        "refund": refund,
        "row": RefundRow(refund),
        "facts": _facts(refund),
        "metadata": metadata_rows(refund.metadata),
        "moments": [Moment(event, EVENT_WORDS) for event in happened],
        "cancellable": _is_cancellable(refund),
        "failure": wording.failure(refund) if refund.status == RefundStatus.FAILED else None,
        "held": wording.held(refund),
        "claim_url": claim_url(refund) if waits else None,
        "form": (form or _destination_form(refund)) if waits else None,
    }
    return render(request, "dashboard/refunds/detail.html", context)


def _destination_form(refund: Refund, data: QueryDict | None = None) -> DestinationForm:
    return DestinationForm(data, takes_memo=takes_memos(refund.environment, refund.network))


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
        ("Arrived", wording.coins_of(refund, refund.received)),
        ("Kept by the token", wording.coins_of(refund, refund.token_fee)),
    ]


def _facts(refund: Refund) -> list[tuple[str, str]]:
    discrepancy = refund.discrepancy
    return [
        ("Amount", wording.price(refund)),
        ("Sent as", wording.coins(refund)),
        *_of_token_fee(refund),
        ("Network", wording.network(refund)),
        ("Out of", wording.suspense(discrepancy) if discrepancy else "The payment"),
        ("To", refund.destination),
        ("Memo", refund.memo),
        ("Address", refund.get_named_by_display()),
        ("On-chain transaction", refund.transaction_hash),
        ("What was said", refund.failure_message),
        ("Reason", refund.reason),
        ("Asked for by", refund.requested_by),
        ("Created", exact(refund.created_at)),
        ("Completed", exact(refund.completed_at)),
    ]


EVENT_WORDS = {
    catalogue.REFUND_CREATED: "Created, and the money reserved",
    catalogue.REFUND_REQUIRES_ACTION: "Needs an address: nobody can tell where the money is to go",
    catalogue.REFUND_PENDING: "Has an address, waiting to be sent",
    catalogue.REFUND_PROCESSING: "Signed, and on its way",
    catalogue.REFUND_COMPLETED: "Completed: final on its network",
    catalogue.REFUND_FAILED: "Failed: the money is back where it was",
    catalogue.REFUND_CANCELLED: "Cancelled: the money is back where it was",
}


def _own_refund(request: MemberRequest, refund_id: str) -> Refund:
    own = Refund.objects.of(request.merchant, request.environment)
    return get_object_or_404(own.select_related("payment", "payout", "discrepancy"), pk=ids.REFUND.decode(refund_id))


def _own_payment(request: MemberRequest, payment_id: str) -> Payment:
    own = Payment.objects.of(request.merchant, request.environment)
    return get_object_or_404(own, pk=ids.PAYMENT.decode(payment_id))
