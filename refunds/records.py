"""Refunds as replies show them and as events carry them."""

from __future__ import annotations

from typing import Any

from config import ids
from config.api.renderers import format_instant
from config.money import FIAT_DIGITS, format_crypto, from_units
from payments.models import Payment
from payments.transfers.states import PayoutStatus
from refunds import wording
from refunds.destination_links import destination_link_url
from refunds.models import Refund


def refund_record(refund: Refund, *, with_link: bool = False) -> dict[str, Any]:
    """The refund as the API shows it and as events carry it.

    Anybody who has `claimUrl` can decide where the money goes, so only keys that may refund get it.
    """
    currency, fiat = refund.payment.currency, refund.fiat_amount
    return {
        "id": refund.public_id,
        "object": "refund",
        "paymentId": ids.PAYMENT.encode(refund.payment_id),
        "discrepancyId": ids.DISCREPANCY.encode(refund.discrepancy_id) if refund.discrepancy_id else None,
        "amount": None if fiat is None else from_units(fiat, FIAT_DIGITS[currency]),
        "currency": currency,
        "cryptoAmount": format_crypto(refund.amount, refund.decimals),
        "tokenFee": format_crypto(refund.token_fee, refund.decimals),
        "receivedAmount": format_crypto(refund.received, refund.decimals) if refund.completed_at else None,
        "returnsFee": refund.returns_fee,
        "cryptocurrency": refund.cryptocurrency,
        "network": refund.network,
        "destination": refund.destination or None,
        "memo": refund.memo or None,
        "memoType": wording.memo_type(refund) or None,
        "status": refund.status,
        "claimUrl": destination_link_url(refund) if with_link else None,
        "reason": refund.reason or None,
        "transactionHash": refund.transaction_hash or None,
        "claimableBalanceId": refund.claimable_balance or None,
        "holdReason": _hold_reason(refund),
        "failureCode": refund.failure_code or None,
        "failureMessage": refund.failure_message or None,
        "metadata": refund.metadata,
        "environment": refund.environment,
        "createdAt": format_instant(refund.created_at),
        "completedAt": format_instant(refund.completed_at) if refund.completed_at else None,
        "version": refund.version,
    }


def _hold_reason(refund: Refund) -> str | None:
    """The reason it is held; None when it is not."""
    payout = refund.payout
    return payout.hold_reason if payout is not None and payout.status == PayoutStatus.HELD else None


def newest_refunds(payment: Payment, most: int, with_link: bool) -> list[dict[str, Any]]:
    """The newest refunds of a payment, as the API shows them."""
    found = Refund.objects.filter(payment=payment).select_related("payment", "payout").defer("payment__qr_png")
    return [refund_record(refund, with_link=with_link) for refund in found.order_by("-pk")[:most]]
