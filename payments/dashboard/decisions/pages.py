"""The page of everything that waits for the merchant, and the one that accepts money after a preview."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.db import transaction
from django.db.models import Count, Min, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import SimpleLazyObject
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from config import ids
from config.errors import DomainError
from config.pages import wording
from merchants.access.log_in.sessions import MemberRequest, member_required
from merchants.access.log_in.single_use import close_form, open_form
from merchants.audit.recording import OngoingAction
from merchants.models import Merchant
from merchants.roles import Action
from merchants.wording import exact
from payments.chains import registry
from payments.dashboard.decisions.rows import (
    DecisionRow,
    RecordRow,
    ShownChanged,
    decision_row,
    decision_rows,
    locked_as_shown,
    payment_of,
    refunds_waiting,
    settlements_waiting,
    undecided,
)
from payments.dashboard.forms import AcceptForm, DecisionFilterForm
from payments.models import Discrepancy, Payment
from payments.states import DiscrepancyKind, DiscrepancyStatus, PaymentStatus
from payments.suspense.acceptance import DiscrepancyResolved, accept_discrepancy

SECTION = "dashboard_decisions"
PAGE_SIZE = 20
"""So many can be decided about at once."""
MOST_COUNTED = 100
"""The number in the navigation counts no further than this of each kind."""

USED_FORM = gettext_lazy("This form was already submitted. Nothing was done twice.")


def waiting_count(merchant: Merchant, environment: str) -> int:
    """Number of things that wait for a merchant, by one query; no more than MOST_COUNTED of each kind are counted."""
    found = [
        undecided(merchant, environment),
        refunds_waiting(merchant, environment).records,
        settlements_waiting(merchant, environment).records,
    ]
    keys = [each.order_by().values_list("pk")[:MOST_COUNTED] for each in found]
    return keys[0].union(*keys[1:], all=True).count()


def navigation(request: HttpRequest) -> dict[str, object]:
    """For templates: how many decisions wait, counted when a merchant's page shows it."""

    def count() -> int:
        merchant = getattr(request, "merchant", None)
        return waiting_count(merchant, getattr(request, "environment", "")) if merchant else 0

    return {"decisions_waiting": SimpleLazyObject(count)}


# --- the list ----------------------------------------------------------------------------------------


@never_cache
@require_safe
@member_required
def list_decisions(request: MemberRequest) -> HttpResponse:
    form = DecisionFilterForm(request.GET)
    rows: list[DecisionRow | RecordRow] = []
    kind = form.cleaned_data["kind"] if form.is_valid() else ""
    before = _key_in(request.GET.get("before", ""))
    if form.is_valid():
        rows = _newest(request, kind, before)
    shown = rows[:PAGE_SIZE]

    def url(last: uuid.UUID | None) -> str:
        query = request.GET.copy()
        query.pop("before", None)
        if last is not None:
            query["before"] = str(last)
        return f"{reverse(SECTION)}?{query.urlencode()}" if query else reverse(SECTION)

    context = {
        "section": SECTION,
        "form": form,
        "rows": shown,
        "filtered": bool(kind),
        "has_sums": any(isinstance(row, DecisionRow) for row in shown),
        "all_ticked": "tick" in request.GET,
        "tick_url": f"?{urlencode({**request.GET.dict(), 'tick': 'all'})}",
        "not_yet": "" if before else _not_yet(request.merchant, request.environment),
        "first_url": url(None) if before else "",
        "next_url": url(shown[-1].key) if len(rows) > PAGE_SIZE else "",
    }
    return render(request, "dashboard/decisions/list.html", context)


def _newest(request: MemberRequest, kind: str, before: uuid.UUID | None) -> list[DecisionRow | RecordRow]:
    """A page of what waits, newest first, and one more if there is more. Keys of all kinds sort by their time."""
    merchant, environment = request.merchant, request.environment
    older = Q(pk__lt=before) if before else Q()
    found: list[DecisionRow | RecordRow] = []
    if kind == "" or kind in DiscrepancyKind.values:
        own = undecided(merchant, environment).filter(older, Q(kind=kind) if kind else Q())
        own = own.select_related("payment__payment_link", "deposit").defer("payment__qr_png").order_by("-pk")
        found += decision_rows(list(own[: PAGE_SIZE + 1]))
    for name, provider in (("refund", refunds_waiting), ("settlement", settlements_waiting)):
        if kind in ("", name):
            waiting = provider(merchant, environment)
            records = waiting.records.filter(older).order_by("-pk")[: PAGE_SIZE + 1]
            found += map(waiting.row, records)
    return sorted(found, key=lambda row: row.key, reverse=True)[: PAGE_SIZE + 1]


def _not_yet(merchant: Merchant, environment: str) -> str:
    """Number of payments that have received too little and may still be paid, and the time of the first decision.

    Found by the end of their windows: most payments that ever received too little ended long ago.
    """
    running = Payment.objects.of(merchant, environment).filter(
        network__in=registry.networks(environment),
        closes_at__gt=timezone.now(),
        status=PaymentStatus.UNDERPAID,
        closed_at__isnull=True,
    )
    found = running.aggregate(number=Count("pk"), first=Min("closes_at"))
    if not found["number"]:
        return ""
    return ngettext(
        "%(number)d payment has received too little so far. If the rest does not come, it waits here from %(at)s on.",
        "%(number)d payments have received too little so far. If the rest does not come, the first waits here from "
        "%(at)s on.",
        found["number"],
    ) % {"number": found["number"], "at": exact(found["first"])}


def _key_in(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


# --- accepting ---------------------------------------------------------------------------------------


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.ACCEPT_MONEY)
def accept(request: MemberRequest, discrepancy_id: str) -> HttpResponse:
    """Show a preview of accepting and a field for the reason; each form accepts once, and only what it has shown."""
    discrepancy = own_discrepancy(request, discrepancy_id)
    if discrepancy.status != DiscrepancyStatus.OPEN:
        return decided_already(request, discrepancy)
    form = AcceptForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        if not close_form(request):
            messages.warning(request, str(USED_FORM))
            request.action.refused()
            return redirect(SECTION)
        if _accept_as_shown(request, discrepancy, form):
            messages.success(request, _("The money is accepted and in your balance."))
            return redirect("dashboard_payment", payment_of(discrepancy).public_id)
    context = {
        "section": SECTION,
        "row": decision_row(own_discrepancy(request, discrepancy_id)),
        "form": form,
        "form_id": open_form(request),
    }
    return render(request, "dashboard/decisions/accept.html", context, status=400 if form.errors else 200)


def _accept_as_shown(request: MemberRequest, discrepancy: Discrepancy, form: AcceptForm) -> bool:
    """Accept it; False when that would do something else by now than what the page has shown."""
    asked = form.cleaned_data
    try:
        accept_shown(request.action, discrepancy, shown=asked["shown"], reason=asked["reason"], by=request.user.email)
    except DomainError as refusal:
        form.add_refusal(refusal)
        return False
    return True


def accept_shown(action: OngoingAction, discrepancy: Discrepancy, *, shown: str, reason: str, by: str) -> None:
    """Accept what a page has shown, and tell the audit log; ShownChanged when that would do something else by now."""
    with transaction.atomic():
        if locked_as_shown(discrepancy, shown).acceptance is None:
            raise ShownChanged
        accept_discrepancy(discrepancy, resolved_by=by, note=reason)
    action.done(discrepancy, after=logged(discrepancy) | {"reason": reason})


def logged(discrepancy: Discrepancy) -> dict[str, str]:
    """Fields of this money for the audit log."""
    with wording.numbers_as("comma"):
        amount = wording.coins(discrepancy.amount, discrepancy.decimals, discrepancy.asset)
    return {"payment": payment_of(discrepancy).public_id, "amount": amount}


def own_discrepancy(request: MemberRequest, discrepancy_id: str) -> Discrepancy:
    """Money of a payment of this merchant and environment, decided or not; Http404 for any other."""
    return get_object_or_404(own_discrepancies(request), pk=ids.DISCREPANCY.decode(discrepancy_id))


def own_discrepancies(request: MemberRequest) -> QuerySet[Discrepancy]:
    """Money of payments of this merchant and environment, decided or not."""
    own = Discrepancy.objects.filter(merchant=request.merchant, environment=request.environment, payment__isnull=False)
    return own.decidable().select_related("payment__payment_link", "deposit").defer("payment__qr_png")


def decided_already(request: MemberRequest, discrepancy: Discrepancy) -> HttpResponse:
    """Back to the payment, with the word that there is nothing left to decide."""
    messages.info(request, _(DiscrepancyResolved.message))
    request.action.refused()
    return redirect("dashboard_payment", payment_of(discrepancy).public_id)
