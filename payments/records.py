"""Payments as replies show them and as events carry them: plain values, rendered by plain functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from config.api.renderers import format_instant
from config.money import FIAT_DIGITS, format_crypto, from_units
from payments import qr
from payments.models import Deposit, Payment
from payments.states import DepositStatus
from webhooks.models import Event


def payment_record(
    payment: Payment, *, deposits: Iterable[Deposit] = (), heads: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """The payment as the API shows it and as events carry it.

    `heads` are the heights of the networks' tips, for deposits that still wait for confirmations.
    """
    deposits = list(deposits)
    return {
        "id": payment.public_id,
        "object": "payment",
        "status": payment.status,
        "amount": from_units(payment.fiat_amount, FIAT_DIGITS[payment.currency]),
        "currency": payment.currency,
        "cryptoAmount": format_crypto(payment.due, payment.decimals),
        "cryptocurrency": payment.cryptocurrency,
        "network": payment.network,
        "url": payment.page_url,
        "qrCode": qr.data_uri(bytes(payment.qr_png)),
        "expiresAt": format_instant(payment.expires_at),
        "createdAt": format_instant(payment.created_at),
        "amountReceived": format_crypto(payment.received, payment.decimals),
        "amountRefunded": format_crypto(payment.refunded, payment.decimals),
        "exchangeRate": {
            "rate": f"{payment.rate.normalize():f}",
            "source": payment.rate_source,
            "quotedAt": format_instant(payment.rate_quoted_at),
        },
        "depositAddress": payment.deposit_address,
        "memo": payment.memo or None,
        "paymentUri": payment.payment_uri,
        "confirmations": confirmations_of(payment, deposits, heads or {}),
        "requiredConfirmations": payment.required_confirmations,
        "statusReasons": payment.status_reasons,
        "transfers": [_transfer(deposit) for deposit in deposits],
        "merchantWallet": payment.merchant_wallet,
        "redirectUrl": payment.redirect_url or None,
        "webhookUrl": payment.webhook_url or None,
        "expiresIn": payment.expires_in,
        "metadata": payment.metadata,
        "environment": payment.environment,
        "completedAt": format_instant(payment.completed_at) if payment.completed_at else None,
        "cancelledAt": format_instant(payment.cancelled_at) if payment.cancelled_at else None,
        "version": payment.version,
    }


def confirmations_of(payment: Payment, deposits: Iterable[Deposit], heads: Mapping[str, int]) -> int:
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


def _transfer(deposit: Deposit) -> dict[str, Any]:
    return {
        "hash": deposit.transaction_hash,
        "amount": format_crypto(deposit.amount, deposit.decimals),
        "cryptocurrency": deposit.asset,
        "network": deposit.network,
        "status": deposit.status,
        "block": deposit.height,
        "seenAt": format_instant(deposit.seen_at),
    }


def timeline_entry(event: Event) -> dict[str, Any]:
    """One thing that happened to a payment, and what it had become by then."""
    return {
        "id": event.public_id,
        "object": "event",
        "type": event.type,
        "version": event.version,
        "status": event.payload["status"],
        "amountReceived": event.payload["amountReceived"],
        "createdAt": format_instant(event.created_at),
    }
