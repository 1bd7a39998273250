"""Changes that people and their systems ask for: create a payment, cancel it, end its window."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import ROUND_CEILING, Decimal, localcontext
from typing import Any

import orjson
from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from config import ids
from config.coins import USD_SCALE, usd_worth
from config.database.bulk_insert import insert_together
from config.database.database_time import CLOCKS_APART
from config.environments import Environment
from config.errors import DomainError, InvalidParameter
from config.installation.services import SEEN_COLUMNS, StandsStill, is_current
from config.money import round_up_to_shown, to_units
from config.pages import qr
from config.pages.samples import SANDBOX_WALLET
from merchants import counting
from merchants.models import LatePayments, Merchant
from merchants.wallets import WalletRules
from payments.chains import registry
from payments.chains.base import Chain
from payments.chains.errors import InvalidAddress, NetworkUnavailable
from payments.chains.recipients import account_of
from payments.deposits.address_derivations import AS_JSON, may_give_out
from payments.deposits.crediting import assess_locked
from payments.deposits.models import ScanCursor
from payments.deposits.recording import record_payment_events, save_payment
from payments.models import PAYMENTS, Payment
from payments.rates.amounts import fiat_units, require_worth
from payments.rates.quoting import quote
from payments.records import payment_record
from payments.states import (
    DepositStatus,
    PaymentStatus,
)
from payments.suspense.recipient_checks import IS_OURS, NEEDS_MEMO, OURS, needs_memo, refusal_of_account
from webhooks.events import catalogue
from webhooks.events.recording import build_event, wake_dispatcher

DEFAULT_EXPIRES_IN = 1800
LATE_GRACE = timedelta(hours=24)
"""How long after the window a merchant who accepts late payments goes on accepting them."""

NETWORK_SILENCE_MAX = timedelta(minutes=10)
"""A network that has not answered for so long takes no new payments: their money could not be seen."""


class WalletNotAllowed(DomainError):
    code = "wallet_not_allowed"
    message = "This wallet is not on the merchant's allow list."


class PaymentNotCancellable(DomainError):
    code = "payment_not_cancellable"
    message = "A payment can be cancelled only while nothing has been paid and its window is open."


class PaymentNotClosable(DomainError):
    code = "payment_not_closable"
    message = "A payment can be closed early only while it has received too little and can still be paid."


_CONFIRMING = "More has been seen and is not confirmed yet. Decide once it is: it may be all that is missing."
_UNREAD = "Its network cannot be read right now, so nobody knows what has been sent. Try again shortly."


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
    payment_link_id: uuid.UUID | None = None
    takes_late_money: bool = True
    """Whether the merchant's choice to accept late money holds for it. Else late money waits for a decision."""


@dataclass(frozen=True, slots=True)
class _Terms:
    """What the database has to say about a new payment, asked in one query."""

    sequence: int
    tolerance_bps: int
    late_payments: str
    wallet_allow_list: list[str]
    halted: bool
    polled_at: datetime | None
    read_until: datetime | None
    installation: uuid.UUID | None
    pulse: int | None
    is_stopped: bool | None
    derivations: str | None
    is_own_wallet: bool
    is_coin_stopped: bool


def create_payment(*, merchant: Merchant, environment: str, request: NewPayment) -> tuple[Payment, dict[str, Any]]:
    """Quote a payment, give it an address and store it with its first event. Returns it and its record.

    Everything is written by one statement, in the caller's database transaction.
    """
    if environment == Environment.PRODUCTION and request.merchant_wallet.lower() == SANDBOX_WALLET.lower():
        raise InvalidParameter("This is the wallet of the sandbox's examples. Name your own.", param="merchantWallet")
    fiat_amount = fiat_units(request.amount, request.currency)
    adapter = registry.chain(environment, request.network)
    asset = registry.asset(environment, request.network, request.cryptocurrency)
    wallet = _wallet(adapter, request.merchant_wallet)
    if needs_memo(environment, request.network, wallet):
        raise InvalidParameter(NEEDS_MEMO, param="merchantWallet")
    terms = _terms(merchant, environment, adapter, wallet, asset.code)
    if not is_current(terms.installation, terms.pulse, terms.is_stopped):
        raise StandsStill(retry_after_seconds=300)
    known = orjson.loads(terms.derivations) if terms.derivations else None
    if not _is_read(environment, terms) or not may_give_out(environment, adapter, known, terms.sequence):
        raise NetworkUnavailable(param="network", retry_after_seconds=60)
    if terms.is_coin_stopped:
        message = f"{asset.code} on {request.network} cannot be paid with right now. Offer another coin or network."
        raise NetworkUnavailable(message, param="cryptocurrency", retry_after_seconds=300)
    if terms.is_own_wallet:
        raise InvalidParameter(OURS, param="merchantWallet")
    if terms.wallet_allow_list and not WalletRules.of(terms.wallet_allow_list, {}).allows(wallet):
        raise WalletNotAllowed(param="merchantWallet")

    price = quote(request.currency, request.cryptocurrency, environment=environment)
    require_worth(request.amount, request.currency, environment=environment, coin=request.cryptocurrency)
    with localcontext(prec=60, rounding=ROUND_CEILING):
        due = to_units(round_up_to_shown(request.amount / price.rate), asset.decimals)
    rule = adapter.profile.credit_rule(usd_worth(asset.code, due, asset.decimals) // 10**USD_SCALE)
    to = adapter.deposit_address(terms.sequence)

    payment_id = ids.new_uuid(_milliseconds(terms.read_until))
    expires_at = ids.created_at_of(payment_id) + timedelta(seconds=request.expires_in)
    has_grace = terms.late_payments == LatePayments.ACCEPT and request.takes_late_money
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
        closes_at=expires_at + (LATE_GRACE if has_grace else timedelta()),
        metadata=request.metadata,
        payment_link_id=request.payment_link_id,
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
        type=catalogue.PAYMENT_CREATED,
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
    """Cancel a payment that was not paid. Cancelling it again changes nothing."""
    with transaction.atomic():
        payment = Payment.objects.select_for_update().get(pk=payment.pk)
        if payment.status == PaymentStatus.CANCELLED:
            return payment
        seen = payment.deposits.exclude(status=DepositStatus.ORPHANED).exists()
        if payment.status != PaymentStatus.CREATED or seen:
            raise PaymentNotCancellable(
                f"This payment is {payment.status} and cannot be cancelled." if not seen else None
            )
        payment.cancelled_at = timezone.now()
        save_payment(payment, PaymentStatus.CANCELLED, fields=["cancelled_at"])
        record_payment_events(payment, [catalogue.PAYMENT_CANCELLED])
        return payment


def close_payment(payment: Payment) -> Payment:
    """End the time of a payment that has received too little, before its time; what came then waits for a decision.

    It ends at the newest block that has been read: what was sent by then counts, what is sent later is late. Nothing is
    done while a transfer of it is not settled, or its network is not read. Closing again changes nothing.
    """
    with transaction.atomic():
        payment = Payment.objects.select_for_update().get(pk=payment.pk)
        if payment.status != PaymentStatus.UNDERPAID:
            raise PaymentNotClosable(f"This payment is {payment.status} and cannot be closed early.")
        if payment.closed_at is not None:
            return payment
        settled = Q(status=DepositStatus.CREDITED) | Q(status=DepositStatus.ORPHANED, booked_to="")
        if payment.deposits.exclude(settled).exists():
            raise PaymentNotClosable(_CONFIRMING)
        ended = _read_until(payment)
        payment.expires_at, payment.closes_at = min(payment.expires_at, ended), min(payment.closes_at, ended)
        payment.untold = [*payment.untold, catalogue.PAYMENT_UPDATED]
        payment.save(update_fields=["expires_at", "closes_at"])
        closed = assess_locked(payment, ends_now=True)
        if closed.closed_at is None:  # its network is halted
            raise NetworkUnavailable(_UNREAD, retry_after_seconds=60)
        return closed


def _read_until(payment: Payment) -> datetime:
    """The block time up to which the payment's network has been read; NetworkUnavailable when that is long ago."""
    cursor = ScanCursor.objects.filter(environment=payment.environment, network=payment.network).first()
    if cursor is None or cursor.read_until is None or cursor.polled_at is None:
        raise NetworkUnavailable(_UNREAD, retry_after_seconds=60)
    if timezone.now() - cursor.polled_at > NETWORK_SILENCE_MAX:
        raise NetworkUnavailable(_UNREAD, retry_after_seconds=60)
    return cursor.read_until


def end_window(payment: Payment) -> Payment:
    """Let the time of a sandbox payment run out now, for trying out what happens afterwards."""
    if payment.environment != Environment.SANDBOX:
        raise RuntimeError("time passes by itself in production")
    with transaction.atomic():
        payment = Payment.objects.select_for_update().get(pk=payment.pk)
        grace = payment.closes_at - payment.expires_at
        payment.expires_at = min(payment.expires_at, timezone.now())
        payment.closes_at = payment.expires_at + grace
        # The next assessment tells of it, with what follows from it.
        payment.untold, payment.assess_at = [*payment.untold, catalogue.PAYMENT_UPDATED], timezone.now()
        payment.save(update_fields=["expires_at", "closes_at", "untold", "assess_at"])
        return payment


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
        settings.wallet_allow_list, cursor.fault <> '' OR stopped.is_halted, cursor.polled_at,
        cursor.read_until, {SEEN_COLUMNS}, {AS_JSON}, {IS_OURS}, stopped.is_coin
    FROM merchants_merchantsettings AS settings
    CROSS JOIN LATERAL (
        SELECT coalesce(bool_or(kind = 'halt'), false) AS is_halted,
            coalesce(bool_or(asset = %(coin)s), false) AS is_coin
        FROM ledger_breaker AS stop
        WHERE stop.environment = settings.environment AND stop.network = %(network)s AND stop.closed_at IS NULL
    ) AS stopped
    LEFT JOIN payments_scancursor AS cursor
        ON cursor.environment = settings.environment AND cursor.network = %(network)s
    LEFT JOIN installation_installation AS installation ON true
    WHERE settings.merchant_id = %(merchant)s AND settings.environment = %(environment)s
"""  # noqa: S608 - constants


def _milliseconds(read_until: datetime | None) -> int | None:
    """When a payment begins, where our clock cannot say: not before the newest block that has been read.

    No block is of the future: a clock that is behind one would end the payer's time before it has begun.
    """
    if read_until is None or read_until <= timezone.now() + CLOCKS_APART:
        return None
    return int(read_until.timestamp() * 1000)


def _is_read(environment: str, terms: _Terms) -> bool:
    """Whether money sent now would be seen soon. A network is read from where it stands when it is first asked: what is
    sent before that could be missed, but for a simulated one, which is read from its beginning."""
    if terms.halted or terms.polled_at is None:
        return not terms.halted and registry.is_simulated(environment)
    return timezone.now() - terms.polled_at <= NETWORK_SILENCE_MAX


def _terms(merchant: Merchant, environment: str, adapter: Chain, wallet: str, coin: str) -> _Terms:
    account, _ = account_of(adapter.profile, wallet)
    asked: dict[str, Any] = {
        "network": adapter.profile.network,
        "merchant": merchant.pk,
        "environment": str(environment),
        "coin": coin,
    }
    with connection.cursor() as cursor:
        cursor.execute(_TERMS, asked | {"account": account})
        row = cursor.fetchone()
    return _Terms(*row)
