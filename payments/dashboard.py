"""The merchant's pages about payments: what came in, the list, one payment, and the sandbox's scenarios."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from config import ids
from config.environments import Environment
from config.errors import DomainError
from config.samples import SANDBOX_WALLET
from merchants import counting
from merchants.access.sessions import MemberRequest, member_required
from merchants.listing import list_page
from merchants.models import ApiKey, Role
from merchants.wording import exact
from payments import overview, simulator, wording
from payments.chains import registry
from payments.forms import PaymentFilterForm
from payments.lookup import find_payment
from payments.losses.models import Bearer, MissingCoins, MissingStatus
from payments.models import PAYMENTS, Deposit, Discrepancy, Payment, ScanCursor
from payments.records import TRANSFERS_SHOWN
from payments.services import cancel_payment
from payments.states import DepositStatus, DiscrepancyKind, DiscrepancyStatus, PaymentStatus, StatusReason
from webhooks import events as catalogue
from webhooks.models import Event
from webhooks.showing import Moment

RECENT = 6

PAYMENT_COLUMNS = (
    {"label": "Amount"},
    {"label": "Status"},
    {"label": "Paid with"},
    {"label": "Created"},
    {"label": "Network"},
    {"label": "Reference"},
)
RECENT_COLUMNS = PAYMENT_COLUMNS[:4]
DEPOSIT_COLUMNS = (
    {"label": "On-chain transaction"},
    {"label": "Amount", "number": True},
    {"label": "Confirmations", "number": True},
    {"label": "Status"},
)


@dataclass(frozen=True)
class PaymentRow:
    """A payment as the list shows it."""

    payment: Payment

    @property
    def price(self) -> str:
        return wording.fiat(self.payment)

    @property
    def reference(self) -> str:
        """The end of the id, by which its payments differ: the beginning is the time."""
        return f"pay_…{self.payment.public_id[-8:]}"

    @property
    def network(self) -> str:
        return registry.known_profile(self.payment.environment, self.payment.network).name

    @property
    def due(self) -> str:
        return f"{wording.coins_asked(self.payment.due, self.payment.decimals)} {self.payment.cryptocurrency}"


@never_cache
@require_safe
@member_required
def home(request: MemberRequest) -> HttpResponse:
    own = Payment.objects.of(request.merchant, request.environment)
    recent = [PaymentRow(payment) for payment in own.order_by("-id")[:RECENT]]
    context = {
        "section": "dashboard",
        "may_write": request.member.role != Role.VIEWER,
        "columns": RECENT_COLUMNS,
        "recent": recent,
        "balances": overview.balances(request.merchant, request.environment),
        "figures": overview.figures(request.merchant, request.environment, timezone.now()),
        "has_keys": ApiKey.objects.of(request.merchant, request.environment).live().exists(),
        "curl": _first_request(request),
    }
    return render(request, "dashboard/home.html", context)


def _first_request(request: MemberRequest) -> str:
    """A line that creates a payment, to be completed with the merchant's own keys."""
    path = "/sandbox/v1/payments" if request.environment == Environment.SANDBOX else "/v1/payments"
    wallet = SANDBOX_WALLET if registry.is_simulated(request.environment) else "YOUR_WALLET_ON_POLYGON"
    body = (
        '{"amount": 12.50, "currency": "EUR", "cryptocurrency": "USDC", "network": "polygon",\n'
        f'       "merchantWallet": "{wallet}"}}'
    )
    return (
        f"curl {settings.PUBLIC_URL}{path} \\\n"
        '  -H "Authorization: Bearer $BALLAST_PUBLIC_KEY" \\\n'
        '  -H "X-Api-Secret: $BALLAST_SECRET_KEY" \\\n'
        '  -H "Content-Type: application/json" \\\n'
        f"  -d '{body}'"
    )


@never_cache
@require_safe
@member_required
def list_payments(request: MemberRequest) -> HttpResponse:
    own = Payment.objects.of(request.merchant, request.environment)
    form = PaymentFilterForm(request.GET)
    if not form.is_valid():
        context = {"section": "dashboard_payments", "form": form, "columns": PAYMENT_COLUMNS, "rows": []}
        return render(request, "dashboard/payments/list.html", context)
    searched, status, keys = form.cleaned_data["q"], form.cleaned_data["status"], form.keys()
    if searched and (found := find_payment(request.merchant, request.environment, searched)):
        return redirect("dashboard_payment", found.public_id)
    total = (
        0
        if searched
        else counting.total(
            PAYMENTS,
            merchant_id=request.merchant.pk,
            environment=request.environment,
            statuses=[status] if status else None,
            keys=keys,
        )
    )
    matching = own.none() if searched else own.filter(keys.condition)
    if status:
        matching = matching.filter(status=status)
    page = list_page(request.GET, matching, public_id=ids.PAYMENT, view="dashboard_payments")
    rows = [PaymentRow(payment) for payment in page.records]
    context = {
        "section": "dashboard_payments",
        "form": form,
        "columns": PAYMENT_COLUMNS,
        "rows": rows,
        "filtered": bool(searched or status or form.cleaned_data["start"] or form.cleaned_data["end"]),
        "words": f"{len(rows)} of {total:,} payments" if total != 1 else "1 payment",
        "first_url": page.first_url,
        "next_url": page.next_url,
    }
    return render(request, "dashboard/payments/list.html", context)


@never_cache
@require_safe
@member_required
def show_payment(request: MemberRequest, payment_id: str, refunds_of: Callable[[Payment], object]) -> HttpResponse:
    """`refunds_of` reads what the page shows of the payment's refunds, of which nothing is known down here."""
    payment = _own_payment(request, payment_id)
    context = _detail_context(request, payment) | {"refunds": refunds_of(payment)}
    return render(request, "dashboard/payments/detail.html", context)


def _detail_context(request: MemberRequest, payment: Payment) -> dict[str, object]:
    deposits = list(payment.deposits.order_by("id")[:TRANSFERS_SHOWN])
    heads = dict(ScanCursor.objects.filter(environment=payment.environment).values_list("network", "head_height"))
    happened = Event.objects.of(request.merchant, request.environment).about(payment.id)
    undecided = payment.discrepancies.filter(status=DiscrepancyStatus.OPEN).order_by("id")
    missing = payment.missing_coins.exclude(status=MissingStatus.RETURNED).order_by("pk")
    in_sandbox = request.environment == Environment.SANDBOX and settings.SANDBOX_CHAIN == "simulated"
    return {
        "section": "dashboard_payments",
        "may_write": request.member.role != Role.VIEWER,
        "payment": payment,
        "row": PaymentRow(payment),
        "payment_page": payment.page_url,
        "facts": _facts(payment),
        "address": _address_facts(payment),
        "metadata": wording.metadata_rows(payment.metadata),
        "deposit_columns": DEPOSIT_COLUMNS,
        "more_transfers": max(0, payment.deposit_count - TRANSFERS_SHOWN),
        "deposits": [DepositRow(deposit, heads.get(deposit.network, 0)) for deposit in deposits],
        "moments": [PaymentMoment(event, EVENT_WORDS) for event in happened],
        "undecided": [_undecided_words(discrepancy) for discrepancy in undecided],
        "missing": [_missing_words(each) for each in missing],
        "cancellable": payment.status == PaymentStatus.CREATED and not deposits,
        "scenarios": simulator.possible_scenarios(payment).items() if in_sandbox else (),
    }


@dataclass(frozen=True)
class DepositRow:
    """An on-chain transfer as the payment's page shows it."""

    deposit: Deposit
    head: int

    @property
    def amount(self) -> str:
        return f"{wording.coins_held(self.deposit.amount, self.deposit.decimals)} {self.deposit.asset}"

    @property
    def short_hash(self) -> str:
        return wording.short_hash(self.deposit.transaction_hash)

    @property
    def confirmations(self) -> int:
        return 0 if self.deposit.status == DepositStatus.ORPHANED else max(0, self.head - self.deposit.height + 1)


class PaymentMoment(Moment):
    """With what it was about in coins."""

    @property
    def amount(self) -> str:
        """What had been given back by then where that is what happened, else what had been credited; if anything."""
        record = self.event.payload
        refunded = self.event.type == catalogue.PAYMENT_REFUNDED
        amount = str(record.get("amountRefunded" if refunded else "amountReceived", ""))
        words = "refunded in all" if refunded else "received"
        return f"{amount} {record.get('cryptocurrency', '')} {words}" if amount.strip("0.") else ""


EVENT_WORDS = {
    catalogue.PAYMENT_CREATED: "Created",
    catalogue.PAYMENT_PENDING: "Seen on the network, confirming",
    catalogue.PAYMENT_UNDERPAID: "Underpaid: less than was due is confirmed",
    catalogue.PAYMENT_COMPLETED: "Completed",
    catalogue.PAYMENT_OVERPAID: "Overpaid: more than was due is confirmed",
    catalogue.PAYMENT_EXPIRED: "Expired",
    catalogue.PAYMENT_LATE: "Money arrived late",
    catalogue.PAYMENT_CANCELLED: "Cancelled",
    catalogue.PAYMENT_REVERSED: "Reversed: a reorganisation undid a transfer",
    catalogue.PAYMENT_REFUNDED: "Refunded",
    catalogue.PAYMENT_COINS_MISSING: "Coins are missing on the network",
    catalogue.PAYMENT_COINS_RESTORED: "Coins that were missing are made good",
    catalogue.PAYMENT_COINS_LOST: "Coins are lost",
}


def _facts(payment: Payment) -> list[tuple[str, str]]:
    coin = payment.cryptocurrency
    return [
        ("Price", wording.fiat(payment)),
        ("Due", f"{wording.coins_asked(payment.due, payment.decimals)} {coin}"),
        ("Received", f"{wording.coins_held(payment.received, payment.decimals)} {coin}"),
        ("Refunded", f"{wording.coins_held(payment.refunded, payment.decimals)} {coin}" if payment.refunded else ""),
        ("Unusual", ", ".join(StatusReason(reason).label for reason in payment.status_reasons)),
        ("Rate", f"1 {coin} = {wording.rate(payment.rate)} {payment.currency}"),
        ("Rate from", f"{payment.rate_source}, {exact(payment.rate_quoted_at)}"),
        ("Created", exact(payment.created_at)),
        ("Expires", exact(payment.expires_at)),
        ("Completed", exact(payment.completed_at)),
        ("Cancelled", exact(payment.cancelled_at)),
    ]


def _address_facts(payment: Payment) -> list[tuple[str, str]]:
    rule = f"{payment.required_confirmations} confirmations"
    return [
        ("Coin", f"{payment.cryptocurrency} on {registry.known_profile(payment.environment, payment.network).name}"),
        ("Deposit address", payment.deposit_address),
        ("Memo", payment.memo),
        ("Credited after", f"{rule}, and a final block" if payment.require_finalized else rule),
        ("Settled to", payment.merchant_wallet),
        ("Returns to", payment.redirect_url),
        ("Webhook", payment.webhook_url),
    ]


def _undecided_words(discrepancy: Discrepancy) -> str:
    amount = f"{wording.coins_held(discrepancy.amount, discrepancy.decimals)} {discrepancy.asset}"
    kind = DiscrepancyKind(discrepancy.kind).label
    return f"{amount}: {kind[0].lower()}{kind[1:]}. It is in suspense until someone accepts it or gives it back."


def _missing_words(missing: MissingCoins) -> str:
    """What a merchant reads about coins that are not at the payment's address any more."""
    both = (missing.amount, missing.held)
    coins, held = (f"{wording.coins_held(units, missing.decimals)} {missing.asset}" for units in both)
    if missing.status == MissingStatus.OPEN:
        kept = f"{held} of your balance is held" if missing.held else "Nothing of your balance is held"
        gone = f"{coins} that arrived are not on the network any more."
        return f"{gone} {kept} until your operator has decided who bears the loss."
    bearer = "come off your balance" if missing.bearer == Bearer.MERCHANT else "were made good by your operator"
    return f"{coins} that arrived were lost on the network and {bearer}. {missing.reason}"


@never_cache
@require_POST
@member_required(role=Role.DEVELOPER)
def cancel(request: MemberRequest, payment_id: str) -> HttpResponse:
    payment = _own_payment(request, payment_id)
    try:
        cancel_payment(payment)
    except DomainError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, "The payment is cancelled. Money that still arrives waits for your decision.")
    return redirect("dashboard_payment", payment.public_id)


@never_cache
@require_POST
@member_required(role=Role.DEVELOPER)
def simulate(request: MemberRequest, payment_id: str) -> HttpResponse:
    payment = _own_payment(request, payment_id)
    scenario = request.POST.get("scenario", "")
    if scenario not in simulator.SCENARIOS:
        raise Http404
    try:
        with transaction.atomic():
            simulator.simulate_payment(payment, scenario)
    except DomainError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, f"{simulator.SCENARIOS[scenario].description} It shows up with the next blocks.")
    return redirect("dashboard_payment", payment.public_id)


def _own_payment(request: MemberRequest, payment_id: str) -> Payment:
    own = Payment.objects.of(request.merchant, request.environment)
    return get_object_or_404(own, pk=ids.PAYMENT.decode(payment_id))
