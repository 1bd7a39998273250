"""The page of one payment: what is known of it, what can be done about it, and the sandbox's scenarios."""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.db.models import Exists, OuterRef, Subquery
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from config import ids
from config.environments import Environment
from config.errors import DomainError
from config.hooks import Hook
from config.pages import wording
from merchants.access.log_in.sessions import MemberRequest, member_required
from merchants.audit.recording import fields_of
from merchants.pages import curl
from merchants.pages.dashboard import reporting
from merchants.roles import Action
from merchants.wording import exact
from payments.chains import registry
from payments.chains.recipients import person_of
from payments.checkout import simulator
from payments.dashboard.decisions.rows import address_of
from payments.dashboard.forms import NameTransactionForm, NoteForm
from payments.dashboard.rows import DEPOSIT_COLUMNS, DepositRow, PaymentRow, RefundsOfPayment
from payments.dashboard.timeline import timeline_of
from payments.deposits.models import ScanCursor
from payments.models import UNPAID_FOR_GOOD, Discrepancy, NamedTransaction, Payment
from payments.rates.tables import source_in_words
from payments.record_rows import TRANSFERS_SHOWN
from payments.services import cancel_payment, update_payment
from payments.states import DiscrepancyKind, DiscrepancyStatus, PaymentStatus, StatusReason
from payments.suspense import attribution, suggestions
from payments.treasury.losses.models import Bearer, MissingCoins, MissingStatus

refunds_of: Hook[[Payment, Sequence[Discrepancy]], RefundsOfPayment] = Hook("refunds_of")
"""Refunds of a payment on its page, by all its discrepancies that are not void; refunds provide it."""


@never_cache
@require_safe
@member_required
def show_payment(request: MemberRequest, payment_id: str) -> HttpResponse:
    payment = _own_payment(request, payment_id)
    return _show_payment(request, payment)


@never_cache
@require_POST
@member_required(action=Action.CHANGE_NOTE)
def change_note(request: MemberRequest, payment_id: str) -> HttpResponse:
    payment = _own_payment(request, payment_id)
    form = NoteForm(request.POST)
    if not form.is_valid():
        return _show_payment(request, payment, note=form)
    with transaction.atomic():
        changed = update_payment(payment, {"note": form.cleaned_data["note"]})
        # Its text may be about a person, and the audit log cannot be changed.
        request.action.done(payment, after={"note": bool(changed.note)})
    messages.success(request, _("The note is saved."))
    return redirect("dashboard_payment", payment.public_id)


@never_cache
@require_POST
@member_required(action=Action.NAME_TRANSACTION)
def name_transaction(request: MemberRequest, payment_id: str) -> HttpResponse:
    """Name the on-chain transaction of a payment, whose money waits for its payment."""
    payment = _own_payment(request, payment_id)
    form = NameTransactionForm(request.POST)
    if form.is_valid():
        try:
            attribution.name_transaction(payment, form.cleaned_data["hash"], named_by=request.user.email)
        except DomainError as refusal:
            form.add_refusal(refusal)
        else:
            request.action.done(payment, after={"transaction": form.cleaned_data["hash"]})
            messages.success(request, _("Noted. Your operator decides whether the money belongs to this payment."))
            return redirect("dashboard_payment", payment.public_id)
    return _show_payment(request, payment, form)


def _show_payment(
    request: MemberRequest, payment: Payment, form: NameTransactionForm | None = None, note: NoteForm | None = None
) -> HttpResponse:
    context = _detail_context(request, payment)
    if form is not None:
        context["naming"] = form
    if note is not None:
        context["note"] = note
    return render(request, "dashboard/payments/detail.html", context)


def _detail_context(request: MemberRequest, payment: Payment) -> dict[str, object]:
    tip = ScanCursor.objects.filter(environment=OuterRef("environment"), network=OuterRef("network"))
    seen = payment.deposits.annotate(head=Subquery(tip.values("head_height")[:1])).order_by("id")
    deposits = list(seen[:TRANSFERS_SHOWN])
    discrepancies = list(payment.discrepancies.exclude(status=DiscrepancyStatus.VOID).order_by("id"))
    refunds = refunds_of(payment, discrepancies)
    in_review = DiscrepancyKind.REVIEW
    undecided = [each for each in discrepancies if each.status == DiscrepancyStatus.OPEN and each.kind != in_review]
    perhaps = suggestions.may_be_for(payment)
    named = _named(payment)
    may_name = request.member.may[Action.NAME_TRANSACTION.permission]
    in_sandbox = request.environment == Environment.SANDBOX and settings.SANDBOX_CHAIN == "simulated"
    timeline = timeline_of(
        payment, request.member, deposits=deposits, discrepancies=discrepancies, refunds=refunds.keys
    )
    return {
        "section": "dashboard_payments",
        "payment": payment,
        "row": PaymentRow(payment),
        "payment_page": payment.page_url,
        "curl": curl.reading(payment.environment, f"payments/{payment.public_id}"),
        "refresh_seconds": _REFRESH_AFTER_SECONDS[bool(payment.completed_at) or payment.status in UNPAID_FOR_GOOD],
        "facts": _facts(payment),
        "address": _address_facts(payment),
        "items": [wording.item(each, payment.currency) for each in payment.items],
        "note": NoteForm(initial={"note": payment.note}),
        "metadata": wording.metadata_rows(payment.metadata),
        "deposit_columns": DEPOSIT_COLUMNS,
        "more_transfers": max(0, payment.deposit_count - TRANSFERS_SHOWN),
        "deposits": [DepositRow(each, payment, each.head or 0, discrepancies, refunds.given_back) for each in deposits],
        "refunds": refunds,
        "timeline": timeline,
        "undecided": [(_undecided_words(discrepancy), address_of(discrepancy)) for discrepancy in undecided],
        "short": _short_words(payment),
        "perhaps": _perhaps_words(perhaps[0]) if perhaps else "",
        "naming": NameTransactionForm() if perhaps and may_name and not named else None,
        "named": named,
        "missing": [_missing_words(each) for each in _missing_of(payment)],
        "cancellable": payment.status == PaymentStatus.CREATED and not deposits,
        "scenarios": simulator.offered_scenarios(payment).items() if in_sandbox else (),
    }


_REFRESH_AFTER_SECONDS = {False: 3, True: 15}
"""Seconds until the open page is reloaded, by whether the payment is over."""


def _named(payment: Payment) -> list[NamedTransaction]:
    """Transactions the merchant has named for this payment that are not decided about."""
    if not getattr(payment, "has_named", True):
        return []
    return list(payment.named_transactions.filter(discrepancy__status=DiscrepancyStatus.OPEN))


def _missing_of(payment: Payment) -> list[MissingCoins]:
    """Coins that were paid for it and that its network does not hold; its reasons show whether there were any."""
    if not {StatusReason.COINS_MISSING, StatusReason.COINS_LOST} & {*payment.status_reasons}:
        return []
    return list(payment.missing_coins.exclude(status=MissingStatus.RETURNED).order_by("pk"))


def _facts(payment: Payment) -> list[tuple[str, str]]:
    coin = payment.cryptocurrency
    return [
        (_("What it is for"), payment.description),
        (_("Price"), wording.fiat(payment.fiat_amount, payment.currency)),
        (_("Due"), f"{wording.grouped(wording.coins_to_send(payment.due, payment.decimals))} {coin}"),
        (_("Received"), wording.coins(payment.received, payment.decimals, coin)),
        (_("Refunded"), wording.coins(payment.refunded, payment.decimals, coin) if payment.refunded else ""),
        (_("What happened"), ", ".join(str(StatusReason(reason).label) for reason in payment.status_reasons)),
        (_("Rate"), wording.quote(coin, payment.rate, payment.currency)),
        (_("Rate from"), f"{source_in_words(payment.rate_source)}, {exact(payment.rate_quoted_at)}"),
        (_("Created"), exact(payment.created_at)),
        (_("Expires"), exact(payment.expires_at)),
        (_("Completed"), exact(payment.completed_at)),
        (_("Cancelled"), exact(payment.cancelled_at)),
    ]


def _address_facts(payment: Payment) -> list[tuple[str, str]]:
    network = registry.known_profile(payment.environment, payment.network).name
    count = payment.required_confirmations
    if payment.require_finalized:
        rule = ngettext("%d confirmation, and a final block", "%d confirmations, and a final block", count)
    else:
        rule = ngettext("%d confirmation", "%d confirmations", count)
    coin = _("%(coin)s on %(network)s") % {"coin": payment.cryptocurrency, "network": network}
    awaits_choice = payment.choices and payment.chosen_at is None and payment.status == PaymentStatus.CREATED
    return [
        (_("Coin"), f"{_('The payer chooses')} ({coin})" if awaits_choice else coin),
        (_("Deposit address"), payment.deposit_address),
        (_("Memo"), payment.memo),
        (_("Both as one"), payment.muxed_address),
        (_("Credited after"), rule % count),
        (_("Settled to"), payment.merchant_wallet),
        (_("With the memo"), person_of(payment.merchant_wallet)),
        (_("Returns to"), payment.redirect_url),
        (_("Returns unpaid to"), payment.cancel_url),
        (_("Webhook"), payment.webhook_url),
    ]


def _undecided_words(discrepancy: Discrepancy) -> str:
    amount = wording.coins(discrepancy.amount, discrepancy.decimals, discrepancy.asset)
    kind = DiscrepancyKind(discrepancy.kind).label
    words = _("%(amount)s: %(kind)s. It is not in your balance: accept it or refund it.")
    return words % {"amount": amount, "kind": kind[0].lower() + kind[1:]}


def _short_words(payment: Payment) -> str:
    """Time when a payment that has received too little can be decided about; empty for any other."""
    if payment.status != PaymentStatus.UNDERPAID or payment.closed_at:
        return ""
    return _(
        "%(received)s of %(due)s arrived. If the rest has not arrived by %(closes)s, you decide: accept this "
        "amount as enough, or refund it."
    ) % {
        "received": wording.coins(payment.received, payment.decimals, payment.cryptocurrency),
        "due": wording.coins(payment.due, payment.decimals, payment.cryptocurrency),
        "closes": exact(payment.closes_at),
    }


def _perhaps_words(discrepancy: Discrepancy) -> str:
    """Words for the merchant about money that may be this payment's: nothing that reveals whose else it may be."""
    amount = wording.coins(discrepancy.amount, discrepancy.decimals, discrepancy.asset)
    return _(
        "%(amount)s arrived without a memo that names a payment. This payment lacks exactly that much. If your "
        "payer says that it is paid, ask for the hash of the on-chain transaction and enter it here. Two "
        "operators then decide."
    ) % {"amount": amount}


def _missing_words(missing: MissingCoins) -> str:
    """The text about coins that are no longer at the payment's address."""
    both = (missing.amount, missing.held)
    coins, held = (wording.coins(units, missing.decimals, missing.asset) for units in both)
    if missing.status == MissingStatus.OPEN:
        gone = _("%(coins)s that arrived are no longer on the network.")
        kept = _("%(held)s of your balance is held until your operator has decided who bears the loss.")
        nothing = _("Nothing of your balance is held until your operator has decided who bears the loss.")
        return f"{gone} {kept if missing.held else nothing}" % {"coins": coins, "held": held}
    yours = _("%(coins)s that arrived were lost on the network and are taken off your balance.")
    theirs = _("%(coins)s that arrived were lost on the network. Your operator covered the loss.")
    lost = (yours if missing.bearer == Bearer.MERCHANT else theirs) % {"coins": coins}
    return f"{lost} {missing.reason}"


@never_cache
@require_POST
@member_required(action=Action.CANCEL_PAYMENT)
def cancel(request: MemberRequest, payment_id: str) -> HttpResponse:
    payment = _own_payment(request, payment_id)
    with reporting(request, _("The payment is cancelled. Money that still arrives waits for your decision.")):
        cancelled = cancel_payment(payment)
        request.action.done(payment, before=fields_of(payment, "status"), after=fields_of(cancelled, "status"))
    return redirect("dashboard_payment", payment.public_id)


@never_cache
@require_POST
@member_required(action=Action.SIMULATE_PAYMENT)
def simulate(request: MemberRequest, payment_id: str) -> HttpResponse:
    payment = _own_payment(request, payment_id)
    scenario = request.POST.get("scenario", "")
    if scenario not in simulator.SCENARIOS:
        raise Http404
    success = f"{simulator.SCENARIOS[scenario].description} {_('You see it here within the next blocks.')}"
    with reporting(request, success), transaction.atomic():
        simulator.simulate_payment(payment, scenario)
        request.action.done(payment, after={"scenario": scenario})
    return redirect("dashboard_payment", payment.public_id)


def _own_payment(request: MemberRequest, payment_id: str) -> Payment:
    open_names = NamedTransaction.objects.filter(payment=OuterRef("pk"), discrepancy__status=DiscrepancyStatus.OPEN)
    own = Payment.objects.of(request.merchant, request.environment).select_related("payment_link")
    own = own.defer("qr_png").annotate(has_named=Exists(open_names))
    return get_object_or_404(own, pk=ids.PAYMENT.decode(payment_id))
