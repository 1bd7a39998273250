"""The merchant's statements by month: the list, the page, which is also for paper, and the files."""

from __future__ import annotations

from datetime import date

from django.conf import settings
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.formats import date_format
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from config.database.replica import reads_from_replica
from config.money import FIAT_DIGITS
from merchants import wording as instants
from merchants.access.log_in.sessions import MemberRequest, member_required
from merchants.models import MerchantSettings
from payments.monitoring.accounting.periods import Days
from settlements.monthly.files import month_reply
from settlements.monthly.months import month_named, months, name_of
from settlements.monthly.presenters import ENTRIES_OF_PAGE, FLOWS, head_of, pages_of, summary_of
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
@reads_from_replica
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
@reads_from_replica
def download_month(request: MemberRequest) -> HttpResponseBase:
    chosen, month = _chosen(request)
    form, valuer, zone = request.GET.get("format", "csv"), _valuer(request, chosen, month), chosen.settlement_timezone
    own = request.merchant, request.environment, month, valuer
    return month_reply(*own, form, timezone=zone, now=timezone.now())


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
