"""The list of payments: filters and search in its address, views that a member saves, and its export as a file."""

from __future__ import annotations

import uuid
from functools import partial
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, JsonResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.dateformat import format as date_format
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from config import ids
from config.database.replica import reads_from_replica
from config.errors import DomainError
from config.pages.files import file_headers
from config.pages.wording import whole
from merchants.access.log_in.sessions import MemberRequest, member_required
from merchants.audit.recording import fields_of
from merchants.pages.listing import BY_STATUS_AND_DAY, ApiList, list_context
from merchants.roles import Action
from payments.dashboard.exports.models import Export
from payments.dashboard.exports.services import read_file, request_export
from payments.dashboard.exports.states import ExportStatus
from payments.dashboard.forms import PaymentFilterForm, ViewNameForm
from payments.dashboard.models import SavedView
from payments.dashboard.rows import PAYMENT_COLUMNS, PaymentRow
from payments.dashboard.search.filters import PaymentFilter
from payments.dashboard.search.finding import Searched, find_payment
from payments.dashboard.views import delete_view, save_view
from payments.models import PAYMENTS, Payment

SECTION = "dashboard_payments"
FOUND_AT_ONCE = 6
"""Payments that the command palette shows."""


@never_cache
@require_safe
@member_required
@reads_from_replica
def list_payments(request: MemberRequest) -> HttpResponse:
    form = PaymentFilterForm(request.GET, environment=request.environment)
    context: dict[str, object] = {
        "section": SECTION,
        "form": form,
        "columns": PAYMENT_COLUMNS,
        "rows": [],
    }
    if form.is_valid():
        filters = form.filters
        if (found := _named(request, filters)) is not None:
            return redirect("dashboard_payment", found.public_id)
        context |= _page(request, form, filters)
        context |= {"asked": filters.as_json(), "query": urlencode(filters.as_json())}
    context["views"] = _views(request, str(context.get("query", "")))
    return render(request, "dashboard/payments/list.html", context)


def _named(request: MemberRequest, filters: PaymentFilter) -> Payment | None:
    """The one payment that was searched for by its id, address, memo or hash, and by nothing else."""
    if not filters.q or filters != PaymentFilter(q=filters.q) or "before" in request.GET:
        return None
    return find_payment(request.merchant, request.environment, filters.q)


def _page(request: MemberRequest, form: PaymentFilterForm, filters: PaymentFilter) -> dict[str, object]:
    own = Payment.objects.of(request.merchant, request.environment).for_lists()
    return list_context(
        request,
        form,
        own.filter(filters.condition()),
        kind=ids.PAYMENT,
        view="dashboard_payments",
        row=PaymentRow,
        counted=PAYMENTS if filters.is_counted else None,
        api=ApiList("payments", BY_STATUS_AND_DAY),
        search=partial(_search, request, filters.q) if filters.q else None,
    )


def _search(
    request: MemberRequest, text: str, payments: QuerySet[Payment], before: uuid.UUID | None, limit: int
) -> tuple[list[Payment], uuid.UUID | None]:
    searched = Searched(request.merchant, request.environment, text)
    found = searched.newest(payments, before=before, limit=limit)
    return searched.with_matches(found.payments), found.following


@never_cache
@require_safe
@member_required
@reads_from_replica
def find(request: MemberRequest) -> HttpResponse:
    """The payments that fit what was typed into the command palette, as JSON."""
    form = PaymentFilterForm(QueryDict(urlencode({"q": request.GET.get("q", "")})), environment=request.environment)
    text = form.cleaned_data["q"] if form.is_valid() else ""
    found: list[Payment] = []
    if text:
        exactly = find_payment(request.merchant, request.environment, text)
        own = Payment.objects.of(request.merchant, request.environment).defer("qr_png")
        searched = Searched(request.merchant, request.environment, text)
        newest = [exactly] if exactly else searched.newest(own, before=None, limit=FOUND_AT_ONCE).payments
        found = searched.with_matches(newest)
    return JsonResponse({"payments": [_as_found(payment) for payment in found]})


def _as_found(payment: Payment) -> dict[str, object]:
    row = PaymentRow(payment)
    return {
        "match": row.match and row.match._asdict(),
        "address": reverse("dashboard_payment", args=[payment.public_id]),
        "title": f"{row.price} · {payment.get_status_display()}",
        "words": f"{row.due}, {date_format(payment.created_at, 'j M Y, H:i')}, {row.reference}",
    }


# --- saved views -------------------------------------------------------------------------------------


def _views(request: MemberRequest, current: str) -> list[dict[str, object]]:
    """The member's own views, each with its address and whether it is the one in view."""
    own = SavedView.objects.of(request.merchant, request.environment).filter(user=request.user).order_by("name")
    found = []
    for view in own:
        query = urlencode(PaymentFilter.from_json(view.filters).as_json())  # the database keeps no order
        found.append({"view": view, "query": query, "is_current": query == current})
    return found


@never_cache
@require_POST
@member_required(action=Action.SAVE_VIEW)
def save(request: MemberRequest) -> HttpResponse:
    """Keep the filters of the list under a name; the same name keeps the new ones instead."""
    form, name = PaymentFilterForm(request.POST, environment=request.environment), ViewNameForm(request.POST)
    if not form.is_valid() or not name.is_valid():
        messages.error(request, _("The view was not saved. It needs a name and valid filters."))
        request.action.refused()
        return redirect(SECTION)
    filters = form.filters
    try:
        saved = save_view(
            merchant=request.merchant,
            environment=request.environment,
            user=request.user,
            name=name.cleaned_data["name"],
            filters=filters,
        )
    except DomainError as refusal:
        messages.error(request, refusal.message)
        request.action.refused()
    else:
        request.action.done(saved, after=fields_of(saved, "name", "filters"))
        messages.success(request, _("“%(name)s” is saved.") % name.cleaned_data)
    return redirect(_list_address(filters))


@never_cache
@require_POST
@member_required(action=Action.DELETE_VIEW)
def forget(request: MemberRequest) -> HttpResponse:
    own = SavedView.objects.of(request.merchant, request.environment).filter(user=request.user)
    key = ids.VIEW.decode(request.POST.get("view", ""))
    view = own.filter(pk=key).first() if key else None
    if view is None:
        messages.error(request, _("You do not have this view. It may already be deleted."))
        request.action.refused()
    else:
        request.action.done(view, before=fields_of(view, "name", "filters"))
        delete_view(view)
        messages.success(request, _("The view “%(name)s” is deleted. Payments are not affected.") % {"name": view.name})
    return redirect(SECTION)


def _list_address(filters: PaymentFilter) -> str:
    query = urlencode(filters.as_json())
    return f"{reverse(SECTION)}?{query}" if query else reverse(SECTION)


# --- export ------------------------------------------------------------------------------------------


@never_cache
@require_POST
@member_required(action=Action.EXPORT_PAYMENTS)
def export(request: MemberRequest) -> HttpResponse:
    """Request the list as a file, with its filters; its page shows when it is ready."""
    form = PaymentFilterForm(request.POST, environment=request.environment)
    if not form.is_valid():
        messages.error(request, _("Some filters are not valid. Correct them, then export."))
        request.action.refused()
        return redirect(SECTION)
    try:
        requested = request_export(
            merchant=request.merchant,
            environment=request.environment,
            requested_by=request.user,
            filters=form.filters,
        )
    except DomainError as refusal:
        messages.error(request, refusal.message)
        request.action.refused()
        return redirect(_list_address(form.filters))
    request.action.done(requested, after=fields_of(requested, "filters"))
    return redirect("dashboard_export", requested.public_id)


@never_cache
@require_safe
@member_required
def show_export(request: MemberRequest, export_id: str) -> HttpResponse:
    """Progress of the file, reloaded every few seconds while it is being written."""
    requested = _own_export(request, export_id)
    expected = requested.rows_expected
    context = {
        "section": SECTION,
        "export": requested,
        "is_running": requested.status in (ExportStatus.WAITING, ExportStatus.WRITING),
        "is_ready": requested.status == ExportStatus.READY,
        "written": whole(requested.rows_written),
        "expected": "" if expected is None else whole(expected),
        "list_address": _list_address(PaymentFilter.from_json(requested.filters)),
    }
    return render(request, "dashboard/payments/export.html", context)


@never_cache
@require_safe
@member_required
@reads_from_replica
def download(request: MemberRequest, export_id: str) -> StreamingHttpResponse:
    requested = _own_export(request, export_id)
    if requested.status != ExportStatus.READY:
        raise Http404
    name = f"payments-{requested.environment}-{requested.created_at:%Y-%m-%d-%H%M}.csv"
    return StreamingHttpResponse(read_file(requested), headers=file_headers(name))


def _own_export(request: MemberRequest, export_id: str) -> Export:
    own = Export.objects.of(request.merchant, request.environment)
    return get_object_or_404(own, pk=ids.EXPORT.decode(export_id))
