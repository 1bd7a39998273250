"""The merchant's statements by month: the list, the page, which is also for paper, and the files."""

from __future__ import annotations

from datetime import date

from django.conf import settings
from django.http import Http404, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.formats import date_format
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from config.money import FIAT_DIGITS
from merchants import wording as instants
from merchants.access.log_in.sessions import MemberRequest, member_required
from merchants.models import MerchantSettings
from payments.monitoring.accounting.periods import Days
from settlements.monthly.files import month_csv, month_json
from settlements.monthly.months import month_named, months, name_of
from settlements.monthly.paper import month_pdf
from settlements.monthly.presenters import ENTRIES_OF_PAGE, ENTRIES_OF_PDF, FLOWS, head_of, pages_of, summary_of
from settlements.monthly.valuation import Valuer

SECTION = "dashboard_months"


@never_cache
@require_safe
@member_required
def list_months(request: MemberRequest) -> HttpResponse:
    zone, now = _settings_of(request).settlement_timezone, timezone.now()
    found = [
        {"name": name_of(month), "words": _words(month.first), "runs": month.end > now}
        for month in months(zone, opened_at=request.merchant.created_at, now=now)
    ]
    context = {"section": SECTION, "months": found, "zone": instants.zone(zone)}
    return render(request, "dashboard/settlements/months.html", context)


@never_cache
@require_safe
@member_required
def show_month(request: MemberRequest) -> HttpResponse:
    chosen, month = _chosen(request)
    zone, valuer = chosen.settlement_timezone, _valuer(request, chosen, month)
    accounts = pages_of(request.merchant, request.environment, month, zone, valuer, shown=ENTRIES_OF_PAGE)
    context = {
        "section": SECTION,
        "fiat": valuer.currencies[-1],
        "currencies": list(FIAT_DIGITS),
        "name": name_of(month),
        "words": _words(month.first),
        "runs": month.end > timezone.now(),
        "accounts": accounts,
        "summary": summary_of(accounts),
        "flows": FLOWS,
        "head": head_of(request.merchant, request.environment, month, zone),
    }
    return render(request, "dashboard/settlements/month.html", context)


@never_cache
@require_safe
@member_required
def download_month(request: MemberRequest) -> HttpResponseBase:
    chosen, month = _chosen(request)
    zone, valuer, now = chosen.settlement_timezone, _valuer(request, chosen, month), timezone.now()
    merchant, environment = request.merchant, request.environment
    form = request.GET.get("format", "csv")
    headers = {"Content-Disposition": f'attachment; filename="ballast-{environment}-{name_of(month)}.{form}"'}
    if form == "csv":
        rows = month_csv(merchant, environment, month, valuer)
        return StreamingHttpResponse(rows, content_type="text/csv; charset=utf-8", headers=headers)
    if form == "json":
        pieces = month_json(merchant, environment, month, valuer, timezone=zone, now=now)
        return StreamingHttpResponse(pieces, content_type="application/json", headers=headers)
    if form == "pdf":
        accounts = pages_of(merchant, environment, month, zone, valuer, shown=ENTRIES_OF_PDF)
        file = month_pdf(merchant, environment, month, accounts, runs=month.end > now, zone=zone)
        return HttpResponse(file, content_type="application/pdf", headers=headers)
    raise Http404


def _chosen(request: MemberRequest) -> tuple[MerchantSettings, Days]:
    """The merchant's settings and the requested month, by the clocks of its settlements."""
    chosen, name, now = _settings_of(request), request.GET.get("month", ""), timezone.now()
    month = month_named(name, chosen.settlement_timezone, opened_at=request.merchant.created_at, now=now)
    if month is None:
        raise Http404
    return chosen, month


def _valuer(request: MemberRequest, chosen: MerchantSettings, month: Days) -> Valuer:
    """Values the month in the currency that was chosen, or in that of the operator's books."""
    fiat = request.GET.get("currency", "") or settings.INVOICE_CURRENCY
    if fiat not in FIAT_DIGITS:
        raise Http404
    return Valuer.of(chosen, month, fiat=fiat, now=timezone.now())


def _settings_of(request: MemberRequest) -> MerchantSettings:
    return request.merchant.settings.get(environment=request.environment)


def _words(first: date) -> str:
    return date_format(first, "F Y")
