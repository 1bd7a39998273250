"""Changes that people and their systems ask for: create a payment, cancel it, decide about money in suspense."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import ROUND_CEILING, Decimal, localcontext
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from config import ids
from config.environments import Environment
from config.errors import DomainError, InvalidParameter
from config.installation.services import SEEN_COLUMNS, StandsStill, is_current
from config.money import FIAT_DIGITS, AmountNotExact, round_up_to_shown, to_units
from config.samples import SANDBOX_WALLET
from config.writing import insert_together
from merchants import counting
from merchants.ledger.posting import post_draft
from merchants.models import LatePayments, Merchant
from merchants.wallets import WalletRules
from payments import events, postings, qr
from payments.chains import registry
from payments.chains.base import Chain
from payments.chains.errors import InvalidAddress
from payments.chains.recipients import account_of
from payments.changes import Changes, record_payment_events
from payments.crediting import assess_locked, count_move, move_payment
from payments.models import PAYMENTS, Deposit, Discrepancy, Payment
from payments.payable import IS_OURS, OURS, refusal_of_account
from payments.rates.quoting import quote
from payments.records import payment_record
from payments.states import (
    DISCREPANCY_MOVES,
    DepositStatus,
    DiscrepancyKind,
    DiscrepancyStatus,
    PaymentStatus,
)
from webhooks.recording import build_event, wake_dispatcher

MAX_FIAT_AMOUNT = Decimal(1_000_000)
DEFAULT_EXPIRES_IN = 1800
LATE_GRACE = timedelta(hours=24)
"""How long after the window a merchant who accepts late payments goes on accepting them."""

NETWORK_SILENCE_MAX = timedelta(minutes=10)
"""A network that has not answered for so long takes no new payments: their money could not be seen."""


class NetworkUnavailable(DomainError):
    code = "network_unavailable"
    message = "This network cannot take payments right now. Try again shortly."


class WalletNotAllowed(DomainError):
    code = "wallet_not_allowed"
    message = "This wallet is not on the merchant's allow list."


class PaymentNotCancellable(DomainError):
    code = "payment_not_cancellable"
    message = "A payment can be cancelled only while nothing has been paid and its window is open."


class DiscrepancyResolved(DomainError):
    code = "discrepancy_resolved"
    message = "Somebody has decided about this money already."


@dataclass(frozen=True, slots=True)
class NewPayment:
    """What a merchant asks for. `amount` is in the currency, `expires_in` in seconds."""

    amount: Decimal
    currency: str
    cryptocurrency: str
    network: str
    merchant_wallet: str
    redirect_url: str = ""
    webhook_url: str = ""
    expires_in: int = DEFAULT_EXPIRES_IN
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Terms:
    """What the database has to say about a new payment, asked in one query."""

    sequence: int
    tolerance_bps: int
    late_payments: str
    wallet_allow_list: list[str]
    halted: bool
    polled_at: datetime | None
    installation: uuid.UUID | None
    pulse: int | None
    is_stopped: bool | None
    is_own_wallet: bool


def create_payment(*, merchant: Merchant, environment: str, request: NewPayment) -> tuple[Payment, dict[str, Any]]:
    """Quote a payment, give it an address and store it with its first event. Answers it and its record.

    Everything is written by one statement, in the caller's database transaction.
    """
    if environment == Environment.PRODUCTION and request.merchant_wallet.lower() == SANDBOX_WALLET.lower():
        raise InvalidParameter("This is the wallet of the sandbox's examples. Name your own.", param="merchantWallet")
    fiat_amount = _fiat_units(request)
    adapter = registry.chain(environment, request.network)
    asset = registry.asset(environment, request.network, request.cryptocurrency)
    wallet = _wallet(adapter, request.merchant_wallet)
    terms = _terms(merchant, environment, adapter, wallet)
    if not is_current(terms.installation, terms.pulse, terms.is_stopped):
        raise StandsStill(retry_after_seconds=300)
    if not _is_read(environment, terms):
        raise NetworkUnavailable(param="network", retry_after_seconds=60)
    if terms.is_own_wallet:
        raise InvalidParameter(OURS, param="merchantWallet")
    if terms.wallet_allow_list and not WalletRules.of(terms.wallet_allow_list, {}).allows(wallet):
        raise WalletNotAllowed(param="merchantWallet")

    price = quote(request.currency, request.cryptocurrency, environment=environment)
    with localcontext(prec=60, rounding=ROUND_CEILING):
        due = to_units(round_up_to_shown(request.amount / price.rate), asset.decimals)
    rule = adapter.profile.credit_rule(due // 10**asset.decimals)  # a stablecoin is worth a dollar, near enough
    to = adapter.deposit_address(terms.sequence)

    payment_id = ids.new_uuid()
    expires_at = ids.created_at_of(payment_id) + timedelta(seconds=request.expires_in)
    payment_uri = adapter.payment_uri(to=to, asset=asset, amount=due)
    payment = Payment(
        id=payment_id,
        merchant_id=merchant.pk,
        environment=environment,
        fiat_amount=fiat_amount,
        currency=request.currency,
        network=request.network,
        cryptocurrency=request.cryptocurrency,
        decimals=asset.decimals,
        merchant_wallet=wallet,
        redirect_url=request.redirect_url,
        webhook_url=request.webhook_url,
        expires_in=request.expires_in,
        expires_at=expires_at,
        closes_at=expires_at + (LATE_GRACE if terms.late_payments == LatePayments.ACCEPT else timedelta()),
        metadata=request.metadata,
        due=due,
        rate=price.rate,
        rate_source=price.source,
        rate_quoted_at=price.quoted_at,
        required_confirmations=rule.confirmations,
        require_finalized=rule.require_finalized,
        tolerance_bps=terms.tolerance_bps,
        sequence=terms.sequence,
        deposit_address=to.address,
        memo=to.memo or "",
        muxed_address=to.muxed or "",
        payment_uri=payment_uri,
        qr_png=qr.render_png(adapter.qr_text(to=to, payment_uri=payment_uri)),
    )
    record = payment_record(payment)
    event = build_event(
        merchant_id=merchant.pk,
        environment=environment,
        type=events.CREATED,
        object_id=payment_id,
        version=payment.version,
        payload=record,
        direct_url=payment.webhook_url,
    )
    count = counting.creation_delta(
        PAYMENTS, merchant_id=merchant.pk, environment=environment, key=payment_id, status=payment.status
    )
    insert_together(payment, event, count)
    wake_dispatcher()
    return payment, record


def cancel_payment(payment: Payment) -> Payment:
    """End a payment that nobody has paid. Cancelling it again changes nothing."""
    with transaction.atomic():
        payment = Payment.objects.select_for_update().get(pk=payment.pk)
        if payment.status == PaymentStatus.CANCELLED:
            return payment
        seen = payment.deposits.exclude(status=DepositStatus.ORPHANED).exists()
        if payment.status != PaymentStatus.CREATED or seen:
            raise PaymentNotCancellable(
                f"This payment is {payment.status} and cannot be cancelled." if not seen else None
            )
        previous = payment.status
        move_payment(payment, PaymentStatus.CANCELLED)
        payment.cancelled_at = timezone.now()
        payment.version += 1
        payment.save(update_fields=["status", "cancelled_at", "completed_at", "version"])
        count_move(payment, previous)
        record_payment_events(payment, [events.CANCELLED])
        return payment


def accept_discrepancy(discrepancy: Discrepancy, *, resolved_by: str, note: str = "") -> Discrepancy:
    """Let the merchant have the money. Short and late money then counts for its payment, the rest is extra."""
    if discrepancy.payment_id is None:
        raise InvalidParameter("Money that names no payment must be assigned to one before it can be accepted.")
    with transaction.atomic():
        payment = Payment.objects.select_for_update().get(pk=discrepancy.payment_id)
        discrepancy = _decide(discrepancy, resolved_by=resolved_by, note=note)
        payment.booking_count += 1
        if _counts_when_accepted(discrepancy, payment):
            _count_for_payment(discrepancy, payment)
        else:
            _give_to_merchant(discrepancy, payment)
        return discrepancy


def take_discrepancy(discrepancy: Discrepancy, *, resolved_by: str, note: str = "") -> Discrepancy:
    """These coins are the operator's own, sent to a wallet where deposits arrive as well."""
    if discrepancy.payment_id or discrepancy.deposit_id is None:
        raise InvalidParameter("This money was sent for a payment.", param="discrepancy")
    with transaction.atomic():
        deposit = Deposit.objects.select_for_update().get(pk=discrepancy.deposit_id)
        discrepancy = _decide(discrepancy, resolved_by=resolved_by, note=note)
        post_draft(postings.suspense_taken(deposit, discrepancy.kind), environment=deposit.environment)
        return discrepancy


def _decide(discrepancy: Discrepancy, *, resolved_by: str, note: str) -> Discrepancy:
    """Accepted from now on, by whoever came first. Its payment or deposit is locked."""
    discrepancy = Discrepancy.objects.select_for_update().get(pk=discrepancy.pk)
    if discrepancy.status != DiscrepancyStatus.OPEN:
        raise DiscrepancyResolved
    DISCREPANCY_MOVES.check(discrepancy.status, DiscrepancyStatus.ACCEPTED)
    discrepancy.status = DiscrepancyStatus.ACCEPTED
    discrepancy.resolved_at, discrepancy.resolved_by = timezone.now(), resolved_by
    discrepancy.note = "\n".join(filter(None, [discrepancy.note, note]))
    discrepancy.save(update_fields=["status", "resolved_at", "resolved_by", "note"])
    return discrepancy


def _counts_when_accepted(discrepancy: Discrepancy, payment: Payment) -> bool:
    """Short money does. Late money does while the payment lacks it and has not been closed: a closed payment's short
    money waits for a decision of its own, and counting anything beside it would complete the payment without it.
    """
    if discrepancy.kind == DiscrepancyKind.UNDERPAID:
        return True
    is_lacking = payment.status != PaymentStatus.CANCELLED and not payment.closed_at and payment.released < payment.due
    return discrepancy.kind == DiscrepancyKind.LATE and is_lacking


def _count_for_payment(discrepancy: Discrepancy, payment: Payment) -> None:
    changes = Changes()
    changes.drafts.append(postings.suspense_accepted(payment, discrepancy.kind, discrepancy.amount))
    if discrepancy.kind == DiscrepancyKind.UNDERPAID:
        payment.closed_at, payment.short = None, 0
    elif discrepancy.deposit_id:
        Deposit.objects.filter(pk=discrepancy.deposit_id).update(booked_to=postings.PAYMENT)
    payment.accepted = True
    assess_locked(payment, changes)


def _give_to_merchant(discrepancy: Discrepancy, payment: Payment) -> None:
    changes = Changes()
    draft = postings.suspense_kept(
        payment,
        discrepancy.kind,
        network=discrepancy.network,
        asset=discrepancy.asset,
        amount=discrepancy.amount,
        owed=changes.owed_by_merchant(payment, discrepancy.network, discrepancy.asset),
    )
    changes.drafts.append(draft)
    changes.post(payment)
    payment.save(update_fields=["booking_count"])


def end_window(payment: Payment) -> Payment:
    """Let the time of a sandbox payment run out now, for trying out what happens afterwards."""
    if payment.environment != Environment.SANDBOX:
        raise RuntimeError("time passes by itself in production")
    with transaction.atomic():
        payment = Payment.objects.select_for_update().get(pk=payment.pk)
        grace = payment.closes_at - payment.expires_at
        payment.expires_at = min(payment.expires_at, timezone.now())
        payment.closes_at = payment.expires_at + grace
        payment.save(update_fields=["expires_at", "closes_at"])
        return payment


def _fiat_units(request: NewPayment) -> int:
    digits = FIAT_DIGITS.get(request.currency)
    if digits is None:
        raise InvalidParameter(f"{request.currency} is not a currency payments can be priced in.", param="currency")
    try:
        return to_units(request.amount, digits)
    except AmountNotExact:
        allowed = f"at most {digits} decimal places" if digits else "no decimal places"
        raise InvalidParameter(f"An amount in {request.currency} has {allowed}.", param="amount") from None


def _wallet(adapter: Chain, text: str) -> str:
    try:
        wallet = adapter.parse_address(text)
    except InvalidAddress as error:
        raise InvalidParameter(str(error), param="merchantWallet") from None
    if problem := refusal_of_account(adapter, wallet):
        raise InvalidParameter(problem, param="merchantWallet")
    return wallet


_TERMS = f"""
    SELECT nextval('payments_deposit_sequence'), settings.payment_tolerance_bps, settings.late_payments,
        settings.wallet_allow_list, cursor.halted_at IS NOT NULL OR cursor.fault <> '', cursor.polled_at,
        {SEEN_COLUMNS}, {IS_OURS}
    FROM merchants_merchantsettings AS settings
    LEFT JOIN payments_scancursor AS cursor
        ON cursor.environment = settings.environment AND cursor.network = %(network)s
    LEFT JOIN installation_installation AS installation ON true
    WHERE settings.merchant_id = %(merchant)s AND settings.environment = %(environment)s
"""  # noqa: S608 - constants


def _is_read(environment: str, terms: _Terms) -> bool:
    """Whether money sent now would be seen soon. A network is read from where it stands when it is first asked: what is
    sent before that could be missed, but for a simulated one, which is read from its beginning."""
    if terms.halted or terms.polled_at is None:
        return not terms.halted and registry.is_simulated(environment)
    return timezone.now() - terms.polled_at <= NETWORK_SILENCE_MAX


def _terms(merchant: Merchant, environment: str, adapter: Chain, wallet: str) -> _Terms:
    account, _ = account_of(adapter.profile, wallet)
    asked: dict[str, Any] = {
        "network": adapter.profile.network,
        "merchant": merchant.pk,
        "environment": str(environment),
    }
    with connection.cursor() as cursor:
        cursor.execute(_TERMS, asked | {"account": account})
        row = cursor.fetchone()
    return _Terms(*row)
