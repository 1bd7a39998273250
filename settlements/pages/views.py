"""The merchant's pages about settlements: what was paid, what comes next, and what to do when one has failed."""

from __future__ import annotations

from datetime import datetime

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from config import ids
from config.database.replica import reads_from_replica
from config.errors import DomainError
from config.pages.wording import coins, whole
from merchants import wording as instants
from merchants.access.log_in.sessions import MemberRequest, member_required
from merchants.models import Merchant, MerchantSettings
from merchants.pages import curl
from merchants.pages.dashboard import Outlook, reporting
from merchants.pages.listing import ApiList, list_context
from merchants.roles import Action
from merchants.wallets import WalletRules
from payments.chains import registry
from payments.dashboard.overview.figures import Notice
from payments.rates.tables import source_in_words
from payments.suspense.recipient_checks import query_wallet
from payments.transfers.wording import how_to_claim, set_aside_on
from settlements import wording
from settlements.debts.presenters import EndedDebtRow
from settlements.exports.bookkeeping import statement_reply
from settlements.models import SETTLEMENTS, Settlement
from settlements.pages.forms import OtherWalletForm, SettlementFilterForm
from settlements.pages.presenters import (
    ENTRIES_SHOWN,
    Conversion,
    NextRun,
    SettlementRow,
    conversions,
    newest_entries,
    offset_rows,
    printed_accounts,
    waits,
    waterfall,
)
from settlements.plans.periods import RUNS_SHOWN, coming_periods
from settlements.plans.reading import decisions_of_column, latest_decisions_as_column, latest_offsets, statement_of
from settlements.services import preview, redirect_failed, retry_failed, run_now
from settlements.states import BLOCKING, SettlementStatus

SECTION = "dashboard_settlements"
OFFSETS_SHOWN = ENDED_SHOWN = 5
PRINTED_LINES = 2_000
"""A statement with more lines is not printed as a page: its file has them all."""

SETTLEMENT_COLUMNS = (
    {"label": _("Amount")},
    {"label": _("Status")},
    {"label": _("Paid to")},
    {"label": _("Created")},
    {"label": _("Contains")},
    {"label": _("Reference")},
)
CONVERSION_COLUMNS = (
    {"label": _("Received")},
    {"label": _("Converted to"), "number": True},
    {"label": _("Rate")},
)
PRINTED_COLUMNS = (
    {"label": _("When")},
    {"label": _("What")},
    {"label": _("Amount"), "number": True},
    {"label": _("Balance"), "number": True},
    {"label": _("Worth"), "number": True},
)
ENTRY_COLUMNS = (
    {"label": _("What")},
    {"label": _("Amount"), "number": True},
    {"label": _("When")},
    {"label": _("Worth"), "number": True},
)


def outlook_of(chosen: MerchantSettings, now: datetime) -> Outlook:
    """Settlements that will follow from a merchant's settings."""
    coming = coming_periods(chosen, now, RUNS_SHOWN)
    rules = WalletRules.of(chosen.wallet_allow_list, chosen.wallets_allowed_at)
    waits = {wallet: rules.cools_off_until(wallet) for wallet in chosen.wallet_allow_list}
    cooling_off = {wallet: until for wallet, until in waits.items() if until is not None and now < until}
    return Outlook([period.ends_at for period in coming], cooling_off)


def waiting_notice(merchant: Merchant, environment: str) -> Notice | None:
    """The notice on the overview about settlements that wait until a wallet holds the coin."""
    waiting = list(Settlement.objects.of(merchant, environment).waiting_for_trustline().order_by("id"))
    if not waiting:
        return None
    settlement = waiting[0]
    amount = coins(settlement.amount, settlement.decimals, settlement.currency)
    if len(waiting) == 1:
        title = gettext("A settlement waits for your wallet")
        url = reverse("dashboard_settlement", args=[settlement.public_id])
        words = gettext("%(amount)s cannot be paid yet: the wallet does not hold %(coin)s.")
        words %= {"amount": amount, "coin": settlement.currency}
    else:
        title = gettext("%(number)s settlements wait for your wallets") % {"number": len(waiting)}
        url = f"{reverse(SECTION)}?status={SettlementStatus.PENDING}"
        words = gettext("They cannot be paid yet: the wallets do not hold the coin.")
    return Notice(title, words, url, gettext("What to do"))


# --- the list and the next run -----------------------------------------------------------------------


@never_cache
@require_safe
@member_required
@reads_from_replica
def list_settlements(request: MemberRequest) -> HttpResponse:
    ended = latest_decisions_as_column(ENDED_SHOWN)
    chosen = request.merchant.settings.annotate(ended_debts=ended).get(environment=request.environment)
    zone = chosen.settlement_timezone
    form = SettlementFilterForm(request.GET)
    context: dict[str, object] = {
        "section": SECTION,
        "form": form,
        "columns": SETTLEMENT_COLUMNS,
        "next_run": _next_run(request.merchant, chosen),
        "offsets": offset_rows(latest_offsets(request.merchant, request.environment, OFFSETS_SHOWN), zone),
        "ended_debts": [
            EndedDebtRow(each, zone) for each in decisions_of_column(chosen.ended_debts, request.environment)
        ],
        "zone": instants.zone(zone),
        "rows": [],
    }
    if form.is_valid():
        context |= list_context(
            request,
            form,
            Settlement.objects.of(request.merchant, request.environment),
            kind=ids.SETTLEMENT,
            view="dashboard_settlements",
            row=lambda settlement: SettlementRow(settlement, zone),
            counted=SETTLEMENTS,
            api=ApiList("settlements", {"status": "status", "start": "startDate", "end": "endDate"}),
        )
    return render(request, "dashboard/settlements/list.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.SETTLE_NOW)
def settle_now(request: MemberRequest) -> HttpResponse:
    """Show what would be paid and require a confirmation; then settle everything up to that moment, or show it once
    more."""
    if request.method != "POST":
        return _confirm_settling(request)
    try:
        run = run_now(merchant=request.merchant, environment=request.environment, requested_by=request.user.email)
    except DomainError as refusal:
        messages.error(request, refusal.message)
        response = _confirm_settling(request, status=refusal.status)
        if refusal.retry_after_seconds is not None:
            response["Retry-After"] = str(refusal.retry_after_seconds)
        return response
    made = [settlement.public_id for settlement in run.settlements.order_by("pk")]
    request.action.done(after={"settlements": made})
    _report_run(request, len(made))
    return redirect("dashboard_settlements")


def _confirm_settling(request: MemberRequest, *, status: int = 200) -> HttpResponse:
    chosen = request.merchant.settings.get(environment=request.environment)
    context = {"section": SECTION, "next_run": _next_run(request.merchant, chosen)}
    return render(request, "dashboard/settlements/settle_now.html", context, status=status)


def _report_run(request: MemberRequest, made: int) -> None:
    if made:
        words = ngettext(
            "One settlement is created. It is paid with the next on-chain transactions.",
            "%(made)s settlements are created. They are paid with the next on-chain transactions.",
            made,
        )
        messages.success(request, words % {"made": made})
    else:
        messages.warning(
            request, gettext("There was nothing to settle. Amounts carried over are listed below, with the reason.")
        )


def _next_run(merchant: Merchant, chosen: MerchantSettings) -> NextRun:
    now = timezone.now()
    found = preview(merchant, chosen, now)
    later = [period.ends_at for period in found.coming[1:]]
    return NextRun(found, chosen.environment, chosen.settlement_timezone, now, later)


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
        "settlement": settlement,
        "row": SettlementRow(settlement, zone),
        "curl": curl.reading(settlement.environment, f"settlements/{settlement.public_id}"),
        "steps": waterfall(settlement),
        "facts": _facts(settlement, zone),
        "is_estimate": settlement.is_estimate,
        "rate_of": wording.RATE_OF[settlement.rate_moment],
        "conversion_columns": CONVERSION_COLUMNS,
        "conversions": converted,
        "coins": [part["coin"] for part in settlement.coins] or [settlement.currency],
        "rate_sources": _sources(converted),
        "entry_columns": ENTRY_COLUMNS,
        "entries": entries,
        "more_entries": len(entries) == ENTRIES_SHOWN,
        "zone": instants.zone(zone),
        "waits": waits(settlement),
        "what_next": _what_next(settlement, zone),
        "set_aside": _set_aside(settlement),
        "is_blocked": _is_blocked(settlement),
        "form": form,
    }
    return render(request, "dashboard/settlements/detail.html", context, status=status)


def _what_next(settlement: Settlement, zone: str) -> str:
    if not settlement.waits_for_trustline:
        return wording.what_next(settlement.failure_code)
    if settlement.payout is None or (at := settlement.payout.set_aside_at) is None:
        return settlement.failure_message
    date = f"{instants.short(at, zone)} ({instants.zone(zone)})"
    return f"{settlement.failure_message} {set_aside_on(date)}"


def _set_aside(settlement: Settlement) -> str:
    """Instructions for claiming a claimable balance; empty when the wallet was paid."""
    if not settlement.claimable_balance:
        return ""
    known = registry.known_profile(settlement.environment, settlement.network).assets
    return how_to_claim(known[settlement.currency]) if settlement.currency in known else ""


def _facts(settlement: Settlement, zone: str) -> list[tuple[str, str]]:
    def shown(instant: datetime | None) -> str:
        return instants.short(instant, zone) if instant else ""

    is_converted = bool(conversions(settlement))
    return [
        (gettext("From"), shown(settlement.period_start)),
        (gettext("Up to"), shown(settlement.period_end)),
        (gettext("Payments"), whole(settlement.payment_count)),
        (gettext("Created"), shown(settlement.created_at)),
        (gettext("Converted"), shown(settlement.converted_at) if is_converted else ""),
        (gettext("At the rate"), settlement.get_rate_moment_display() if is_converted else ""),
        (gettext("Completed"), shown(settlement.completed_at)),
        (
            gettext("What the network said"),
            settlement.failure_message if settlement.status == SettlementStatus.FAILED else "",
        ),
        (gettext("Id"), settlement.public_id),
    ]


def _sources(converted: list[Conversion]) -> str:
    return "; ".join(dict.fromkeys(source_in_words(each.source) for each in converted if each.source))


def _is_blocked(settlement: Settlement) -> bool:
    """True if its wallet is not paid until the merchant acts."""
    if settlement.waits_for_trustline:
        return True
    failed = settlement.status == SettlementStatus.FAILED
    return failed and settlement.failure_code in BLOCKING and not settlement.may_retry


@never_cache
@require_safe
@member_required
@reads_from_replica
def download_statement(request: MemberRequest, settlement_id: str) -> HttpResponse:
    settlement = _own_settlement(request, settlement_id)
    statement = statement_of(settlement)
    form, coin = request.GET.get("format", "csv"), request.GET.get("coin", settlement.currency)
    return statement_reply(statement, form, coin=coin, timezone=_timezone_of(request))


@never_cache
@require_safe
@member_required
@reads_from_replica
def print_statement(request: MemberRequest, settlement_id: str) -> HttpResponse:
    """The statement as a page for paper, line by line."""
    settlement = _own_settlement(request, settlement_id)
    zone = _timezone_of(request)
    accounts = printed_accounts(statement_of(settlement), zone)
    context = {
        "section": SECTION,
        "settlement": settlement,
        "row": SettlementRow(settlement, zone),
        "facts": _facts(settlement, zone),
        "accounts": accounts if sum(len(each.rows) for each in accounts) <= PRINTED_LINES else [],
        "columns": PRINTED_COLUMNS,
        "zone": instants.zone(zone),
    }
    return render(request, "dashboard/settlements/print.html", context)


_PAID_AGAIN = _("The wallet is paid again with the next settlement.")
_LOOKED_AT = _("We check the wallet again, and pay it if it holds the coin now.")


@never_cache
@require_POST
@member_required(action=Action.RETRY_SETTLEMENT)
def retry(request: MemberRequest, settlement_id: str) -> HttpResponse:
    settlement = _own_settlement(request, settlement_id)
    done = _LOOKED_AT if settlement.waits_for_trustline else _PAID_AGAIN
    with reporting(request, str(done)):
        retry_failed(settlement, requested_by=request.user.email)
    return redirect("dashboard_settlement", settlement.public_id)


def _query_wallet(request: MemberRequest, settlement_id: str) -> None:
    """Query the network about the wallet; `redirect_failed` uses the stored result."""
    settlement, form = _own_settlement(request, settlement_id), OtherWalletForm(request.POST)
    if form.is_valid():
        wallet = form.cleaned_data["wallet"].strip()
        query_wallet(settlement.environment, settlement.network, wallet, merchant_id=settlement.merchant_id)


@never_cache
@require_POST
@member_required(action=Action.REDIRECT_SETTLEMENT, before_transaction=_query_wallet)
def pay_elsewhere(request: MemberRequest, settlement_id: str) -> HttpResponse:
    settlement = _own_settlement(request, settlement_id)
    form = OtherWalletForm(request.POST)
    if form.is_valid():
        try:
            redirect_failed(settlement, wallet=form.cleaned_data["wallet"].strip(), requested_by=request.user.email)
        except DomainError as refusal:
            form.add_refusal(refusal)
        else:
            request.action.done(settlement, before={"wallet": settlement.destination}, after=form.cleaned_data)
            messages.success(request, gettext("The money goes to the other wallet, with the next settlement."))
            return redirect("dashboard_settlement", settlement.public_id)
    return _show(request, settlement, form, status=400)


# --- shared ------------------------------------------------------------------------------------------


def _timezone_of(request: MemberRequest) -> str:
    """The time zone of the merchant's schedule."""
    zone: str = request.merchant.settings.values_list("settlement_timezone", flat=True).get(
        environment=request.environment
    )
    return zone


def _own_settlement(request: MemberRequest, settlement_id: str) -> Settlement:
    own = Settlement.objects.of(request.merchant, request.environment)
    return get_object_or_404(own, pk=ids.SETTLEMENT.decode(settlement_id))
