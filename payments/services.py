"""Changes on request of people and their systems: create a payment, choose for it, describe it, cancel it, end it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, TypedDict

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from config import ids
from config.api.fields import MAX_METADATA_BYTES
from config.api.renderers import render_json
from config.database.bulk_insert import insert_together
from config.database.database_time import CLOCKS_APART
from config.environments import Environment
from config.errors import DomainError, InvalidParameter
from config.hooks import Hook
from config.money import FIAT_DIGITS, from_units
from config.pages.samples import SANDBOX_WALLET
from merchants import counting
from merchants.models import LatePayments, Merchant
from payments.chains import registry
from payments.chains.errors import InvalidAddress, NetworkUnavailable
from payments.chains.networks import NETWORKS
from payments.chains.protocol.chain import Chain
from payments.choices import choices_among
from payments.deposits.crediting import assess_locked
from payments.deposits.models import ScanCursor
from payments.deposits.recording import record_payment_events, save_payment
from payments.deposits.turnover.counting import share_of
from payments.models import PAYMENTS, OfferedAddress, Payment
from payments.rates.amounts import fiat_units, require_worth
from payments.rates.quoting import Quote, quote
from payments.records import payment_record
from payments.states import (
    DepositStatus,
    PaymentStatus,
)
from payments.suspense.recipient_checks import NEEDS_MEMO, needs_memo, refusal_of_account
from payments.terms import NETWORK_SILENCE_MAX, QUOTED_COLUMNS, Offer, Terms, quoted, terms_of
from webhooks.events import catalogue
from webhooks.events.recording import build_event, wake_dispatcher

words_changed: Hook[[Payment], None] = Hook("words_changed")
"""Has what a search finds of a payment written again; the search of the dashboard provides it."""

DEFAULT_EXPIRES_IN = 1800
LATE_GRACE = timedelta(hours=24)
"""Time after the window for which a merchant who accepts late payments goes on accepting them."""


class PaymentNotCancellable(DomainError):
    code = "payment_not_cancellable"
    message = "A payment can be cancelled only while nothing has been paid and its window is open."


class PaymentNotClosable(DomainError):
    code = "payment_not_closable"
    message = "A payment can be closed early only while it has received too little and can still be paid."


_CONFIRMING = "More has been seen and is not confirmed yet. Decide once it is: it may be all that is missing."
_UNREAD = "Its network cannot be read right now, so nobody knows what has been sent. Try again shortly."


class ChoiceIsOver(DomainError):
    code = "choice_is_over"
    message = "Coin and network can be chosen only while nothing has been paid and the payment's window is open."


class Item(TypedDict):
    """A line of what is paid for, as records show it. `amount` is of all its pieces, in the payment's currency."""

    name: str
    quantity: int
    amount: Decimal | None


class PaymentChanges(TypedDict, total=False):
    """Changes of a payment. A name of `metadata` whose value is None is removed, others are set, the rest stays."""

    description: str
    note: str
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class NewPayment:
    """The request of a payment. `amount` is in the currency, `expires_in` in seconds.

    Either `cryptocurrency`, `network` and `merchant_wallet` fix how it is paid, or its payer chooses a network of
    `wallets`, which names the merchant's wallet on each, and one of `coins`, of all when there are none.
    """

    amount: Decimal
    currency: str
    cryptocurrency: str = ""
    network: str = ""
    merchant_wallet: str = ""
    wallets: Mapping[str, str] = field(default_factory=dict)
    coins: Sequence[str] = ()
    redirect_url: str = ""
    cancel_url: str = ""
    webhook_url: str = ""
    expires_in: int = DEFAULT_EXPIRES_IN
    metadata: dict[str, Any] = field(default_factory=dict)
    description: str = ""
    items: Sequence[Item] = ()
    note: str = ""
    payment_link_id: uuid.UUID | None = None
    takes_late_money: bool = True
    """True if the merchant's choice to accept late money holds for it. Else late money waits for a decision."""


def create_payment(*, merchant: Merchant, environment: str, request: NewPayment) -> tuple[Payment, dict[str, Any]]:
    """Quote a payment, give it an address and store it with its first event. Returns it and its record.

    One whose payer chooses is quoted by the first offer that can be paid now, and can be paid like that until then.
    Everything is written by one statement, the last thing that is done, in the caller's database transaction if there
    is one.
    """
    is_open = not request.network
    fiat_amount = fiat_units(request.amount, request.currency)
    _require_sum(request.items, fiat_amount, request.currency)
    offers = _offers(environment, request)
    terms = terms_of(merchant.pk, environment, offers)
    first = _first_payable(environment, offers, terms, is_open=is_open)
    here = terms[first.network]
    price = quote(request.currency, first.coin, environment=environment)
    require_worth(request.amount, request.currency, environment=environment, coin=first.coin)

    payment_id = ids.new_uuid(_milliseconds(here.read_until))
    expires_at = ids.created_at_of(payment_id) + timedelta(seconds=request.expires_in)
    has_grace = here.late_payments == LatePayments.ACCEPT and request.takes_late_money
    payment = Payment(
        id=payment_id,
        merchant_id=merchant.pk,
        environment=environment,
        fiat_amount=fiat_amount,
        currency=request.currency,
        redirect_url=request.redirect_url,
        cancel_url=request.cancel_url,
        webhook_url=request.webhook_url,
        expires_in=request.expires_in,
        expires_at=expires_at,
        closes_at=expires_at + (LATE_GRACE if has_grace else timedelta()),
        metadata=request.metadata,
        description=request.description,
        items=list(request.items),
        note=request.note,
        payment_link_id=request.payment_link_id,
        choices=[offer.record for offer in offers] if len(offers) > 1 else [],
        tolerance_bps=here.tolerance_bps,
        sequence=here.sequence,
        **quoted(environment, first, number=here.sequence, amount=request.amount, price=price),
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
    insert_together(payment, event, count, *_offered_addresses(payment, offers))
    wake_dispatcher()
    return payment, record


def _require_sum(items: Sequence[Item], price: int, currency: str) -> None:
    """Refuse lines that do not add up to the price, and amounts beside lines that have none."""
    amounts = [item["amount"] for item in items if item["amount"] is not None]
    if not amounts:
        return
    if len(amounts) < len(items):
        raise InvalidParameter("Give each item its amount, or none of them.", param="items")
    total = sum(fiat_units(amount, currency, param=f"items.{n}.amount") for n, amount in enumerate(amounts))
    if total != price:
        added, whole = (from_units(units, FIAT_DIGITS[currency]) for units in (total, price))
        raise InvalidParameter(
            f"The items add up to {added:f} {currency}, and the payment's amount is {whole:f} {currency}. Add an item "
            "for what is missing, as shipping, or one below 0 for a discount.",
            param="items",
        )


def update_payment(payment: Payment, changes: PaymentChanges) -> Payment:
    """Change what a payment says about its order, whether it is over or not. What changes nothing is no event.

    InvalidParameter if the metadata would be too large with what it has already.
    """
    with transaction.atomic():
        payment = Payment.objects.select_for_update().get(pk=payment.pk)
        new: dict[str, Any] = {**changes}
        if "metadata" in changes:
            removed = {name for name, value in changes["metadata"].items() if value is None}
            merged = {**payment.metadata, **changes["metadata"]}
            new["metadata"] = {name: value for name, value in merged.items() if name not in removed}
            if (size := len(render_json(new["metadata"]))) > MAX_METADATA_BYTES:
                raise InvalidParameter(
                    f"Would have {size:,} bytes with what is there, and may have {MAX_METADATA_BYTES:,}: remove names "
                    "by sending null for them.",
                    param="metadata",
                )
        changed = {name: value for name, value in new.items() if value != getattr(payment, name)}
        if not changed:
            return payment
        counted = share_of(payment)
        for name, value in changed.items():
            setattr(payment, name, value)
        save_payment(payment, PaymentStatus(payment.status), fields=[*changed], counted=counted)
        record_payment_events(payment, [catalogue.PAYMENT_UPDATED])
        words_changed(payment)
        return payment


def choose(payment: Payment, *, network: str, coin: str) -> Payment:
    """Let the payer of a payment that leaves it open pay with this coin on this network.

    The same again changes nothing. The payment keeps its number and its window, and its rate in the coin that it has
    already. Raises InvalidParameter for what it does not offer, ChoiceIsOver, and what `create_payment` raises.
    """
    with transaction.atomic():
        payment = Payment.objects.select_for_update().get(pk=payment.pk)
        offers = {(offer.network, offer.coin): offer for offer in map(Offer.of_record, payment.choices)}
        if (offer := offers.get((network, coin))) is None:
            raise InvalidParameter("Choose one of the coins that are offered.", param="choice")
        is_same = (network, coin) == (payment.network, payment.cryptocurrency)
        if is_same and payment.chosen_at is not None:
            return payment
        # A transfer that a reorganisation has undone may come again, for the request of then.
        if payment.status != PaymentStatus.CREATED or payment.deposit_count or timezone.now() >= payment.expires_at:
            raise ChoiceIsOver
        here = terms_of(payment.merchant_id, payment.environment, [offer], number=payment.sequence)[network]
        _require_payable(payment.environment, offer, here, param="choice")
        counted, payment.chosen_at = share_of(payment), timezone.now()
        for name, value in (_quoted_anew(payment, offer) if not is_same else {}).items():
            setattr(payment, name, value)
        save_payment(payment, PaymentStatus.CREATED, fields=[*QUOTED_COLUMNS, "chosen_at"], counted=counted)
        record_payment_events(payment, [catalogue.PAYMENT_UPDATED])
        return payment


def _quoted_anew(payment: Payment, offer: Offer) -> Mapping[str, Any]:
    """The payment's columns for this offer. Its address is one that was stored before: others are not watched."""
    amount = from_units(payment.fiat_amount, FIAT_DIGITS[payment.currency])
    price = (
        Quote(payment.rate, payment.rate_source, payment.rate_quoted_at)
        if offer.coin == payment.cryptocurrency
        else quote(payment.currency, offer.coin, environment=payment.environment)
    )
    columns = quoted(payment.environment, offer, number=payment.sequence, amount=amount, price=price)
    if columns["deposit_address"] != payment.address_on(offer.network):
        raise NetworkUnavailable(param="choice", retry_after_seconds=60)
    return columns


def _offered_addresses(payment: Payment, offers: Sequence[Offer]) -> list[OfferedAddress]:
    """Addresses for any of its offers: one in each family of networks. None where that is one."""
    networks = {NETWORKS[offer.network].real.family: offer.network for offer in offers}
    places = {
        family: registry.chain(payment.environment, network).deposit_address(payment.sequence)
        for family, network in networks.items()
    }
    if len(places) == 1:
        return []
    return [
        OfferedAddress(payment_id=payment.pk, family=family, address=to.address, memo=to.memo or "")
        for family, to in places.items()
    ]


def _offers(environment: str, request: NewPayment) -> list[Offer]:
    """Offers of the payment, each wallet checked as far as it can be without the database."""
    if request.network:
        wallet = request.merchant_wallet
        return [_offer(environment, request.network, request.cryptocurrency, wallet, param="merchantWallet")]
    if not request.wallets:
        raise InvalidParameter("Name a wallet on at least one network.", param="merchantWallets")
    for network in request.wallets:
        registry.profile(environment, network)
    offers = [
        _offer(environment, each.network, each.coin, request.wallets[each.network], param=wallet_param(each.network))
        for each in choices_among(environment, request.wallets, request.coins)
    ]
    if not offers:
        raise InvalidParameter("None of these coins is accepted on these networks.", param="cryptocurrencies")
    return offers


def wallet_param(network: str) -> str:
    """The name of one of several wallets in errors."""
    return f"merchantWallets.{network}"


def _offer(environment: str, network: str, coin: str, wallet: str, *, param: str) -> Offer:
    if environment == Environment.PRODUCTION and wallet.lower() == SANDBOX_WALLET.lower():
        raise InvalidParameter("This is the wallet of the sandbox's examples. Enter your own.", param=param)
    adapter = registry.chain(environment, network)
    asset = registry.asset(environment, network, coin)
    wallet = _wallet(adapter, wallet, param=param)
    if needs_memo(environment, network, wallet):
        raise InvalidParameter(NEEDS_MEMO, param=param)
    return Offer(network, asset.code, wallet)


def _first_payable(environment: str, offers: Sequence[Offer], terms: Mapping[str, Terms], *, is_open: bool) -> Offer:
    """The first offer that can be paid now. Of several, no wallet may be refused, and each address must be certain."""
    refusals: list[NetworkUnavailable] = []
    payable: list[Offer] = []
    for offer in offers:
        here, param = terms[offer.network], wallet_param(offer.network) if is_open else "merchantWallet"
        try:
            _require_payable(environment, offer, here, param=param)
            payable.append(offer)
        except NetworkUnavailable as refusal:
            if not here.gives_out_addresses(environment):
                raise
            here.require_wallet(offer.wallet, param=param)
            refusals.append(refusal)
    if not payable:
        raise refusals[0]
    return payable[0]


def _require_payable(environment: str, offer: Offer, terms: Terms, *, param: str) -> None:
    terms.require_current()
    terms.require_seen(environment)
    terms.require_coin(offer.coin)
    terms.require_wallet(offer.wallet, param=param)


def cancel_payment(payment: Payment) -> Payment:
    """Cancel a payment that was not paid. Cancelling it again changes nothing."""
    with transaction.atomic():
        payment = Payment.objects.select_for_update().get(pk=payment.pk)
        if payment.status == PaymentStatus.CANCELLED:
            return payment
        seen = payment.deposits.exclude(status=DepositStatus.ORPHANED).exists()
        if payment.status != PaymentStatus.CREATED or seen:
            is_paid = payment.completed_at is not None
            instead = " To give its money back, create a refund (POST /refunds)." if is_paid else ""
            message = f"This payment is {payment.status} and cannot be cancelled.{instead}"
            raise PaymentNotCancellable(message if is_paid or not seen else None)
        payment.cancelled_at = timezone.now()
        save_payment(payment, PaymentStatus.CANCELLED, fields=["cancelled_at"], counted=share_of(payment))
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
        # The next assessment records it, with what follows from it.
        payment.untold, payment.assess_at = [*payment.untold, catalogue.PAYMENT_UPDATED], timezone.now()
        payment.save(update_fields=["expires_at", "closes_at", "untold", "assess_at"])
        return payment


def _wallet(adapter: Chain, text: str, *, param: str) -> str:
    try:
        wallet = adapter.parse_address(text)
    except InvalidAddress as error:
        raise InvalidParameter(str(error), param=param) from None
    if problem := refusal_of_account(adapter, wallet):
        raise InvalidParameter(problem, param=param)
    return wallet


def _milliseconds(read_until: datetime | None) -> int | None:
    """The beginning of a payment, where our clock lags: not before the newest block that has been read.

    No block is of the future: a clock that is behind one would end the payer's time before it has begun.
    """
    if read_until is None or read_until <= timezone.now() + CLOCKS_APART:
        return None
    return int(read_until.timestamp() * 1000)
