"""The start page: how business goes, what needs attention, what the merchant has; or the first steps."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from config.database.replica import reads_from_replica
from config.environments import Environment
from config.money import FIAT_DIGITS
from config.pages.samples import SANDBOX_WALLET
from merchants import wording as instants
from merchants.access.log_in.sessions import MemberRequest, member_required
from merchants.pages import curl
from merchants.pages.dashboard import outlook_of
from payments.chains import registry
from payments.dashboard.overview import figures, trends
from payments.dashboard.overview.attention import OF_DECISIONS, needs_attention
from payments.dashboard.overview.first_steps import are_offered, first_steps_of
from payments.dashboard.overview.periods import PERIODS, period_named
from payments.dashboard.rows import RECENT_COLUMNS, PaymentRow
from payments.models import Payment

RECENT = 6


@never_cache
@require_safe
@member_required
@reads_from_replica
def home(request: MemberRequest) -> HttpResponse:
    merchant, environment = request.merchant, request.environment
    own = Payment.objects.of(merchant, environment).for_lists()
    recent = [PaymentRow(payment) for payment in own.order_by("-id")[:RECENT]]
    context: dict[str, object] = {"section": "dashboard", "columns": RECENT_COLUMNS, "recent": recent}
    context["offers_first_steps"] = are_offered(request.member)
    if recent:
        context |= _overview(request, usual_currency=recent[0].payment.currency)
    else:
        context |= {
            "curl": _first_request(request),
            "first_steps": first_steps_of(request) if context["offers_first_steps"] else None,
        }
    return render(request, "dashboard/home.html", context)


def _overview(request: MemberRequest, *, usual_currency: str) -> dict[str, object]:
    merchant, environment, now = request.merchant, request.environment, timezone.now()
    period = period_named(request.GET.get("period", ""))
    came = trends.read(merchant, environment, period, now)
    currencies = trends.currencies_of(came, usual_currency)
    code = request.GET.get("currency", "")
    currency = code if code in FIAT_DIGITS else currencies[0]
    chosen = merchant.settings.get(environment=environment)
    next_run_at = next(iter(outlook_of(chosen, now).next_runs), None)
    attention = {item.kind: item for item in needs_attention(merchant, environment, now)}
    return {
        "attention": attention.values(),
        "decisions_waiting": sum(attention[kind].number for kind in OF_DECISIONS if kind in attention),
        "notices": figures.notices(merchant, environment) if "settlements" in attention else [],
        "periods": PERIODS,
        "trend": trends.trend(came, environment, period, currency, now),
        "currencies": [*currencies, *(each for each in FIAT_DIGITS if each not in currencies)],
        "balances": figures.balances(merchant, environment, currency),
        "coming": [
            *figures.confirming(merchant, environment),
            *figures.settlements_coming(merchant, environment),
        ],
        "next_run": instants.local(next_run_at, chosen.settlement_timezone) if next_run_at else "",
        "next_run_from_now": instants.from_now(next_run_at, now) if next_run_at else "",
        "next_run_zone": instants.zone(chosen.settlement_timezone),
        "chart": {"width": trends.CHART_WIDTH, "height": trends.CHART_HEIGHT},
    }


def _first_request(request: MemberRequest) -> str:
    """A command that creates a payment, to be completed with the merchant's keys."""
    path = "/sandbox/v1/payments" if request.environment == Environment.SANDBOX else "/v1/payments"
    wallet = SANDBOX_WALLET if registry.is_simulated(request.environment) else "YOUR_WALLET_ON_POLYGON"
    body = (
        '{"amount": 12.50, "currency": "EUR", "cryptocurrency": "USDC", "network": "polygon",\n'
        f'       "merchantWallet": "{wallet}"}}'
    )
    return curl.command("POST", path, body=body)
