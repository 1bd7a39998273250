"""Settlements as replies show them and as events carry them: plain values, rendered by plain functions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from config.api.renderers import format_instant
from config.money import format_crypto
from settlements.models import Settlement


def settlement_record(settlement: Settlement) -> dict[str, Any]:
    """The settlement as the API shows it and as events carry it.

    Amounts are in the settlement currency and rounded down to six digits; its statement has every digit.
    """

    def shown(units: int) -> str:
        return format_crypto(units, settlement.decimals)

    return {
        "id": settlement.public_id,
        "object": "settlement",
        "status": settlement.status,
        "settlementCurrency": settlement.currency,
        "network": settlement.network,
        "destination": settlement.destination,
        "grossAmount": shown(settlement.gross),
        "feeAmount": shown(settlement.fee),
        "refundAmount": shown(settlement.refund),
        "amount": shown(settlement.amount),
        "paymentCount": settlement.payment_count,
        "exchangeRate": exchange_rates(settlement),
        "periodStart": format_instant(settlement.period_start),
        "periodEnd": format_instant(settlement.period_end),
        "scheduledFor": format_instant(settlement.scheduled_for),
        "transactionHash": settlement.transaction_hash or None,
        "failureCode": settlement.failure_code or None,
        "failureMessage": settlement.failure_message or None,
        "environment": settlement.environment,
        "createdAt": format_instant(settlement.created_at),
        "completedAt": _instant(settlement.completed_at),
        "version": settlement.version,
    }


def exchange_rates(settlement: Settlement) -> dict[str, dict[str, Any]] | None:
    """By coin, what one of it was worth in the settlement currency; None when nothing has been converted."""
    if settlement.converted_at is None:
        return None
    rates = {
        part["coin"]: {"rate": part["rate"], "source": part["source"], "quotedAt": part["quotedAt"]}
        for part in settlement.coins
        if part["coin"] != settlement.currency
    }
    return rates or None


def _instant(instant: datetime | None) -> str | None:
    return format_instant(instant) if instant else None
