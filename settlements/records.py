"""Settlements as replies show them and as events carry them: plain values, rendered by plain functions."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

from config.api.renderers import format_instant
from config.money import format_crypto
from settlements import wording
from settlements.models import Settlement
from settlements.planning import CarriedOver, Plan, PlannedSettlement
from settlements.schedule import Period


def settlement_record(settlement: Settlement) -> dict[str, Any]:
    """The settlement as the API shows it and as events carry it.

    Amounts are in the settlement currency: gross less fee less refunds is the amount, to the last digit.
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
        "tokenFee": shown(settlement.token_fee),
        "receivedAmount": shown(settlement.received) if settlement.completed_at else None,
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
        part["coin"]: {"rate": shown_rate(part["rate"]), "source": part["source"], "quotedAt": part["quotedAt"]}
        for part in settlement.coins
        if part["coin"] != settlement.currency
    }
    return rates or None


def shown_rate(rate: str) -> str:
    """`0.999812`, without needless zeros."""
    return f"{Decimal(rate).normalize():f}"


def preview_record(period: Period | None, plan: Plan, *, period_start: datetime, environment: str) -> dict[str, Any]:
    """What the next run would settle, as the API shows it. Without a period it has to be asked for."""
    ends_at = period.ends_at if period else None
    return {
        "object": "next_settlements",
        "scheduledFor": _instant(ends_at),
        "periodStart": format_instant(period_start),
        "periodEnd": _instant(ends_at),
        "settlements": [_planned_record(planned) for planned in plan.settlements],
        "carriedOver": [_carried_record(left) for left in plan.carried_over],
        "environment": environment,
    }


def _planned_record(planned: PlannedSettlement) -> dict[str, Any]:
    totals = planned.totals
    return {
        "network": planned.network,
        "destination": planned.wallet,
        "settlementCurrency": planned.currency,
        "grossAmount": format_crypto(totals.gross, planned.decimals),
        "feeAmount": format_crypto(totals.fee, planned.decimals),
        "refundAmount": format_crypto(totals.refund, planned.decimals),
        "amount": format_crypto(totals.amount, planned.decimals),
        "paymentCount": planned.payment_count,
    }


def _carried_record(left: CarriedOver) -> dict[str, Any]:
    return {
        "network": left.network,
        "destination": left.wallet,
        "cryptocurrency": left.coin,
        "amount": format_crypto(left.amount, left.decimals),
        "reason": left.reason,
        "message": wording.carried(left.reason),
    }


def _instant(instant: datetime | None) -> str | None:
    return format_instant(instant) if instant else None
