"""The merchant's pages about settlements: what was paid, what comes next, and what to do when one has failed."""

from __future__ import annotations

from datetime import datetime

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from config import ids
from config.errors import DomainError
from merchants import counting
from merchants import wording as instants
from merchants.access.sessions import MemberRequest, member_required
from merchants.dashboard import Outlook
from merchants.listing import list_page
from merchants.models import MerchantSettings, Role
from merchants.wallets import WalletRules
from settlements import wording
from settlements.forms import OtherWalletForm, SettlementFilterForm
from settlements.models import SETTLEMENTS, Settlement
from settlements.reading import statement_of
from settlements.schedule import next_period
from settlements.services import preview, redirect_failed, retry_failed, run_now
from settlements.showing import (
    ENTRIES_SHOWN,
    Conversion,
    NextRun,
    SettlementRow,
    conversions,
    newest_entries,
    waits,
    waterfall,
)
from settlements.statement_formats import csv_reply, json_reply
from settlements.states import BLOCKING, SettlementStatus

SECTION = "dashboard_settlements"

SETTLEMENT_COLUMNS = (
    {"label": "Amount"},
    {"label": "Status"},
    {"label": "Paid to"},
    {"label": "Made"},
    {"label": "Made of"},
    {"label": "Reference"},
)
CONVERSION_COLUMNS = (
    {"label": "What was paid in"},
    {"label": "Became", "number": True},
    {"label": "Rate"},
)
ENTRY_COLUMNS = (
    {"label": "What"},
    {"label": "Amount", "number": True},
    {"label": "When"},
    {"label": "Worth", "number": True},
)


def outlook_of(chosen: MerchantSettings, now: datetime) -> Outlook:
    """What settlements will make of a merchant's settings."""
    period = next_period(chosen, now)
    rules = WalletRules.of(chosen.wallet_allow_list, chosen.wallets_allowed_at)
    waits = {wallet: rules.cools_off_until(wallet) for wallet in chosen.wallet_allow_list}
    cooling_off = {wallet: until for wallet, until in waits.items() if until is not None and now < until}
    return Outlook(period.ends_at if period else None, cooling_off)


# --- the list and the next run -----------------------------------------------------------------------


@never_cache
@require_safe
@member_required
def list_settlements(request: MemberRequest) -> HttpResponse:
    zone = _timezone_of(request)
    form = SettlementFilterForm(request.GET)
    context = {
        "section": SECTION,
        "may_decide": _may_decide(request),
        "form": form,
        "columns": SETTLEMENT_COLUMNS,
        "next_run": _next_run(request, zone),
        "zone": instants.zone(zone),
        **(_page(request, form, zone) if form.is_valid() else {"rows": []}),
    }
    return render(request, "dashboard/settlements/list.html", context)


def _page(request: MemberRequest, form: SettlementFilterForm, zone: str) -> dict[str, object]:
    status, keys = form.cleaned_data["status"], form.keys()
    total = counting.total(
        SETTLEMENTS,
        merchant_id=request.merchant.pk,
        environment=request.environment,
        statuses=[status] if status else None,
        keys=keys,
    )
    matching = Settlement.objects.of(request.merchant, request.environment).filter(keys.condition)
    if status:
        matching = matching.filter(status=status)
    page = list_page(request.GET, matching, public_id=ids.SETTLEMENT, view="dashboard_settlements")
    rows = [SettlementRow(settlement, zone) for settlement in page.records]
    return {
        "rows": rows,
        "filtered": bool(status or form.cleaned_data["start"] or form.cleaned_data["end"]),
        "words": f"{len(rows)} of {total:,} settlements" if total != 1 else "1 settlement",
        "first_url": page.first_url,
        "next_url": page.next_url,
    }


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(role=Role.OWNER)
def settle_now(request: MemberRequest) -> HttpResponse:
    """Asks first, showing what would be paid; then settles everything up to that moment, or asks once more."""
    if request.method != "POST":
        return _ask_to_settle(request)
    try:
        run = run_now(merchant=request.merchant, environment=request.environment, requested_by=request.user.email)
    except DomainError as refusal:
        messages.error(request, refusal.message)
        response = _ask_to_settle(request, status=refusal.status)
        if refusal.retry_after_seconds is not None:
            response["Retry-After"] = str(refusal.retry_after_seconds)
        return response
    _tell_of_run(request, run.settlements.count())
    return redirect("dashboard_settlements")


def _ask_to_settle(request: MemberRequest, *, status: int = 200) -> HttpResponse:
    context = {"section": SECTION, "next_run": _next_run(request, _timezone_of(request))}
    return render(request, "dashboard/settlements/settle_now.html", context, status=status)


def _tell_of_run(request: MemberRequest, made: int) -> None:
    if made:
        words = "One settlement is" if made == 1 else f"{made} settlements are"
        messages.success(request, f"{words} made, and paid with the next on-chain transactions.")
    else:
        messages.warning(request, "There was nothing to settle. What is carried over is named below, with the reason.")


def _next_run(request: MemberRequest, zone: str) -> NextRun:
    now = timezone.now()
    return NextRun(preview(request.merchant, request.environment, now), request.environment, zone, now)


# --- one settlement ----------------------------------------------------------------------------------


@never_cache
@require_safe
@member_required
def show_settlement(request: MemberRequest, settlement_id: str) -> HttpResponse:
    return _show(request, _own_settlement(request, settlement_id), OtherWalletForm())


def _show(request: MemberRequest, settlement: Settlement, form: OtherWalletForm, *, status: int = 200) -> HttpResponse:
    zone = _timezone_of(request)
    converted = conversions(settlement)
    entries = newest_entries(settlement, zone)
    context = {
        "section": SECTION,
        "may_decide": _may_decide(request),
        "settlement": settlement,
        "row": SettlementRow(settlement, zone),
        "steps": waterfall(settlement),
        "facts": _facts(settlement, zone),
        "is_estimate": bool(converted) and settlement.converted_at is None,
        "conversion_columns": CONVERSION_COLUMNS,
        "conversions": converted,
        "rate_sources": _sources(converted),
        "entry_columns": ENTRY_COLUMNS,
        "entries": entries,
        "more_entries": len(entries) == ENTRIES_SHOWN,
        "zone": instants.zone(zone),
        "waits": waits(settlement),
        "what_next": wording.what_next(settlement.failure_code),
        "is_blocked": _is_blocked(settlement),
        "form": form,
    }
    return render(request, "dashboard/settlements/detail.html", context, status=status)


def _facts(settlement: Settlement, zone: str) -> list[tuple[str, str]]:
    def told(instant: datetime | None) -> str:
        return instants.short(instant, zone) if instant else ""

    return [
        ("From", told(settlement.period_start)),
        ("Up to", told(settlement.period_end)),
        ("Payments", f"{settlement.payment_count:,}"),
        ("Made", told(settlement.created_at)),
        ("Converted", told(settlement.converted_at) if conversions(settlement) else ""),
        ("Completed", told(settlement.completed_at)),
        ("What the network said", settlement.failure_message if settlement.status == SettlementStatus.FAILED else ""),
        ("Id", settlement.public_id),
    ]


def _sources(converted: list[Conversion]) -> str:
    return "; ".join(dict.fromkeys(each.source for each in converted if each.source))


def _is_blocked(settlement: Settlement) -> bool:
    """Whether its wallet is left out of every run until somebody decides."""
    failed = settlement.status == SettlementStatus.FAILED
    return failed and settlement.failure_code in BLOCKING and not settlement.may_retry


@never_cache
@require_safe
@member_required
def download_statement(request: MemberRequest, settlement_id: str) -> HttpResponse:
    statement = statement_of(_own_settlement(request, settlement_id))
    match request.GET.get("format", "csv"):
        case "csv":
            return csv_reply(statement)
        case "json":
            return json_reply(statement)
        case _:
            raise Http404


@never_cache
@require_POST
@member_required(role=Role.OWNER)
def retry(request: MemberRequest, settlement_id: str) -> HttpResponse:
    settlement = _own_settlement(request, settlement_id)
    try:
        retry_failed(settlement, requested_by=request.user.email)
    except DomainError as refusal:
        messages.error(request, refusal.message)
    else:
        messages.success(request, "The wallet is paid again with the next settlement.")
    return redirect("dashboard_settlement", settlement.public_id)


@never_cache
@require_POST
@member_required(role=Role.OWNER)
def pay_elsewhere(request: MemberRequest, settlement_id: str) -> HttpResponse:
    settlement = _own_settlement(request, settlement_id)
    form = OtherWalletForm(request.POST)
    if form.is_valid():
        try:
            redirect_failed(settlement, wallet=form.cleaned_data["wallet"].strip(), requested_by=request.user.email)
        except DomainError as refusal:
            form.add_refusal(refusal)
        else:
            messages.success(request, "The money goes to the other wallet, with the next settlement.")
            return redirect("dashboard_settlement", settlement.public_id)
    return _show(request, settlement, form, status=400)


# --- shared ------------------------------------------------------------------------------------------


def _may_decide(request: MemberRequest) -> bool:
    """Owners decide, as over the settings: it is about where money goes."""
    return request.member.role == Role.OWNER


def _timezone_of(request: MemberRequest) -> str:
    """The one of the merchant's schedule: settlements happen on its clocks."""
    zone: str = request.merchant.settings.values_list("settlement_timezone", flat=True).get(
        environment=request.environment
    )
    return zone


def _own_settlement(request: MemberRequest, settlement_id: str) -> Settlement:
    own = Settlement.objects.of(request.merchant, request.environment)
    return get_object_or_404(own, pk=ids.SETTLEMENT.decode(settlement_id))
