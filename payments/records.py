"""Payments as replies show them and as events carry them."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from orjson import Fragment

from config import ids
from config.api.renderers import format_any_instant, format_instant
from config.hooks import Hook
from config.money import FIAT_DIGITS, format_crypto, from_units
from config.pages import qr
from payments.chains import registry
from payments.chains.protocol.addresses import DepositAddress
from payments.models import Deposit, Discrepancy, Payment, page_url
from payments.record_rows import TRANSFERS_SHOWN, ShownDeposit, ShownPayment, deposits_of
from payments.states import DepositStatus, PaymentStatus
from webhooks.events.recording import build_event
from webhooks.models import Event

newest_refunds: Hook[[Payment, int, bool], list[dict[str, Any]]] = Hook("newest_refunds")
"""The newest refunds of a payment, so many, with their `claimUrl` or not; refunds provide it."""


AWAITING = (PaymentStatus.CREATED, PaymentStatus.PENDING, PaymentStatus.UNDERPAID)


def qr_codes_of(payment_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, str]:
    """QR codes over the whole price, by payment. They never change, but for a payment whose payer chooses: its events
    have their own."""
    rows = Payment.objects.filter(pk__in=payment_ids).values_list("pk", "qr_png")
    return {key: qr.data_uri(bytes(png)) for key, png in rows}


def amount_due(payment: Payment | ShownPayment, deposits: Collection[Deposit | ShownDeposit]) -> int:
    """Base units still to be sent, after all that was seen; 0 once it cannot be paid any more."""
    if payment.status not in AWAITING or payment.closed_at is not None:
        return 0
    if not deposits:
        return max(0, int(payment.due) - int(payment.received))
    own = (payment.network, payment.cryptocurrency)
    standing = (each for each in deposits if each.status != DepositStatus.ORPHANED)
    seen = sum(int(each.amount) for each in standing if (each.network, each.asset) == own)
    return max(0, int(payment.due) - max(seen, int(payment.received)))


def payment_link_and_code(payment: Payment | ShownPayment, missing: int) -> tuple[str, bytes]:
    """The link and the PNG of the code for `missing` base units; the first ones once nothing is missing, and where the
    network or the coin is not in use any more."""
    environment, network = payment.environment, payment.network
    if 0 < missing < payment.due and network in registry.networks(environment):
        asset = registry.profile(environment, network).assets.get(payment.cryptocurrency)
        if asset is not None:
            chain = registry.chain(environment, network)
            to = DepositAddress(payment.deposit_address, payment.memo or None, payment.muxed_address or None)
            uri = chain.payment_uri(to=to, asset=asset, amount=missing)
            return uri, qr.drawn(chain.qr_text(to=to, payment_uri=uri))
    return payment.payment_uri, bytes(payment.qr_png)


def payment_record(
    payment: Payment | ShownPayment,
    *,
    deposits: Sequence[Deposit | ShownDeposit] = (),
    heads: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """The payment as the API shows it and as events carry it.

    `deposits` are those seen for it, all or as `deposits_of` has them. `heads` are the heights of the networks' tips,
    for deposits that still wait for confirmations.
    """
    if deposits:
        deposits = sorted(deposits, key=lambda deposit: deposit.id)
    due = amount_due(payment, deposits)
    uri, png = payment_link_and_code(payment, due)
    public_id = ids.PAYMENT.encode(payment.id)

    decimals = payment.decimals
    instant, value = (_as_written, Fragment) if isinstance(payment, ShownPayment) else (format_any_instant, _as_written)
    rate = payment.rate if isinstance(payment, ShownPayment) else f"{payment.rate.normalize():f}"
    return {
        "id": public_id,
        "object": "payment",
        "status": payment.status,
        "amount": from_units(payment.fiat_amount, FIAT_DIGITS[payment.currency]),
        "currency": payment.currency,
        "cryptoAmount": format_crypto(payment.due, decimals),
        "cryptocurrency": payment.cryptocurrency,
        "network": payment.network,
        "url": page_url(public_id),
        "qrCode": qr.data_uri(png),
        "expiresAt": instant(payment.expires_at),
        "createdAt": ids.created_at_text(payment.id),
        "amountDue": format_crypto(due, decimals),
        "amountReceived": format_crypto(payment.received, decimals),
        "amountRefunded": format_crypto(payment.refunded, decimals),
        "exchangeRate": {
            "rate": rate,
            "source": payment.rate_source,
            "quotedAt": instant(payment.rate_quoted_at),
        },
        "depositAddress": payment.deposit_address,
        "memo": payment.memo or None,
        "muxedAddress": payment.muxed_address or None,
        "paymentUri": uri,
        "confirmations": confirmations_of(payment, deposits, heads or {}) if deposits else 0,
        "requiredConfirmations": payment.required_confirmations,
        "statusReasons": payment.status_reasons,
        "transfers": [transfer_record(deposit) for deposit in deposits[:TRANSFERS_SHOWN]] if deposits else [],
        "transferCount": payment.deposit_count,
        "merchantWallet": payment.merchant_wallet,
        "redirectUrl": payment.redirect_url or None,
        "cancelUrl": payment.cancel_url or None,
        "webhookUrl": payment.webhook_url or None,
        "expiresIn": payment.expires_in,
        "metadata": value(payment.metadata),
        "description": payment.description or None,
        "items": value(payment.items),
        "note": payment.note or None,
        "paymentLink": ids.PAYMENT_LINK.encode(payment.payment_link_id) if payment.payment_link_id else None,
        "choices": value(payment.choices),
        "chosenAt": instant(payment.chosen_at),
        "environment": payment.environment,
        "completedAt": instant(payment.completed_at),
        "cancelledAt": instant(payment.cancelled_at),
        "closedAt": instant(payment.closed_at),
        "version": payment.version,
    }


def shown_record(payment: ShownPayment) -> dict[str, Any]:
    """The record of a payment that was read with its deposits."""
    if not payment.deposits:
        return payment_record(payment)
    return payment_record(payment, deposits=payment.deposits, heads=_heads_beside(payment.deposits))


def record_of(payment: Payment) -> dict[str, Any]:
    """The record of one payment, with its deposits as they are now."""
    deposits = deposits_of(payment.pk) if payment.deposit_count else ()
    return payment_record(payment, deposits=deposits, heads=_heads_beside(deposits))


def _heads_beside(deposits: Iterable[ShownDeposit]) -> dict[str, int]:
    return {deposit.network: deposit.head for deposit in deposits if deposit.head is not None}


def payment_events(
    payment: Payment,
    types: Iterable[str],
    *,
    deposits: Sequence[Deposit] | None = None,
    heads: Mapping[str, int] | None = None,
) -> list[Event]:
    """Events, not yet stored, that carry the payment as it is now. `deposits` and `heads` are read where left out."""
    record = record_of(payment) if deposits is None else payment_record(payment, deposits=deposits, heads=heads)
    return [
        build_event(
            merchant_id=payment.merchant_id,
            environment=payment.environment,
            type=type,
            object_id=payment.id,
            version=payment.version,
            payload=record,
            direct_url=payment.webhook_url,
        )
        for type in types
    ]


def confirmations_of(
    payment: Payment | ShownPayment, deposits: Iterable[Deposit | ShownDeposit], heads: Mapping[str, int]
) -> int:
    """Confirmations of the deposit that still needs most, at most what is required; 0 before anything is seen."""
    counts = [
        payment.required_confirmations
        if deposit.status == DepositStatus.CREDITED
        else max(0, min(heads.get(deposit.network, 0) - deposit.height + 1, payment.required_confirmations))
        for deposit in deposits
        if deposit.status != DepositStatus.ORPHANED
        and deposit.network == payment.network
        and deposit.asset == payment.cryptocurrency
    ]
    return min(counts, default=0)


def _as_written(value: Any) -> Any:
    return value


def transfer_record(deposit: Deposit | ShownDeposit) -> dict[str, Any]:
    """An on-chain transfer that was seen for a payment, as the API shows it."""
    return {
        "id": ids.TRANSFER.encode(deposit.id),
        "object": "transfer",
        "hash": deposit.transaction_hash,
        "amount": format_crypto(deposit.amount, deposit.decimals),
        "cryptocurrency": deposit.asset,
        "network": deposit.network,
        "status": deposit.status,
        "block": deposit.height,
        "missing": format_crypto(deposit.missing, deposit.decimals) if deposit.missing else None,
        "conflictingMemo": deposit.conflicting_memo or None,
        "seenAt": format_any_instant(deposit.seen_at),
    }


def discrepancy_record(discrepancy: Discrepancy) -> dict[str, Any]:
    """Money of a payment that is or was in suspense, as the API shows it."""
    return {
        "id": discrepancy.public_id,
        "object": "discrepancy",
        "paymentId": ids.PAYMENT.encode(discrepancy.payment_id) if discrepancy.payment_id else None,
        "kind": discrepancy.kind,
        "status": discrepancy.status,
        "amount": format_crypto(discrepancy.amount, discrepancy.decimals),
        "cryptocurrency": discrepancy.asset,
        "network": discrepancy.network,
        "note": discrepancy.note or None,
        "createdAt": format_instant(discrepancy.created_at),
        "resolvedAt": format_any_instant(discrepancy.resolved_at),
    }


def timeline_entry(event: Event) -> dict[str, Any]:
    """One event of a payment, with its status at that time."""
    return {
        "id": event.public_id,
        "object": "event",
        "type": event.type,
        "version": event.version,
        "status": event.payload["status"],
        "amountReceived": event.payload["amountReceived"],
        "createdAt": format_instant(event.created_at),
    }
