"""Settlements as replies show them and as events carry them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from config.api.renderers import format_instant
from config.money import format_crypto
from settlements import wording
from settlements.events import ON_STATUS
from settlements.models import Settlement
from settlements.plans.facts import Preview
from settlements.plans.offsetting import PlannedOffset
from settlements.plans.planning import CarriedOver, PlannedSettlement
from webhooks.events.recording import build_event
from webhooks.models import Event


def settlement_record(settlement: Settlement) -> dict[str, Any]:
    """The settlement as the API shows it and as events carry it.

    Amounts are in the settlement currency: gross less fee less refunds is the amount, to the last digit.
    """

    rates = exchange_rates(settlement)

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
        "debtAmount": shown(settlement.debt_offset),
        "amount": shown(settlement.amount),
        "tokenFee": shown(settlement.token_fee),
        "receivedAmount": shown(settlement.received) if settlement.completed_at else None,
        "paymentCount": settlement.payment_count,
        "exchangeRate": rates,
        "rateMoment": settlement.rate_moment,
        "periodStart": format_instant(settlement.period_start),
        "periodEnd": format_instant(settlement.period_end),
        "scheduledFor": format_instant(settlement.scheduled_for),
        "transactionHash": settlement.transaction_hash or None,
        "claimableBalanceId": settlement.claimable_balance or None,
        "failureCode": settlement.failure_code or None,
        "failureMessage": settlement.failure_message or None,
        "environment": settlement.environment,
        "createdAt": format_instant(settlement.created_at),
        "completedAt": settlement.completed_at and format_instant(settlement.completed_at),
        "version": settlement.version,
    }


def event_of(settlement: Settlement) -> Event:
    """The event, not yet stored, of the settlement's current status."""
    record = settlement_record(settlement)
    return build_event(
        merchant_id=settlement.merchant_id,
        environment=settlement.environment,
        type=ON_STATUS[settlement.status],
        object_id=settlement.id,
        version=settlement.version,
        payload=record,
    )


def exchange_rates(settlement: Settlement) -> dict[str, dict[str, Any]] | None:
    """By coin, what one of it is worth in the settlement currency; None where nothing is, or not known for good yet."""
    if settlement.is_estimate:
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


def preview_record(found: Preview, *, period_start: datetime, environment: str) -> dict[str, Any]:
    """The next run's settlements in the API, if it came now. Without a period it has to be requested."""
    plan, ends_at = found.plan, found.period.ends_at if found.period else None
    return {
        "object": "next_settlements",
        "scheduledFor": ends_at and format_instant(ends_at),
        "periodStart": format_instant(period_start),
        "periodEnd": ends_at and format_instant(ends_at),
        "settlements": [_planned_record(planned, found.refusals) for planned in plan.settlements],
        "carriedOver": [_carried_record(left) for left in plan.carried_over],
        "debtOffsets": [_offset_record(offset) for offset in plan.offsets],
        "rateMoment": found.rate_moment,
        "environment": environment,
    }


def _planned_record(planned: PlannedSettlement, refusals: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    totals, problem = planned.totals, refusals.get((planned.network, planned.wallet), "")
    return {
        "network": planned.network,
        "destination": planned.wallet,
        "settlementCurrency": planned.currency,
        "grossAmount": format_crypto(totals.gross, planned.decimals),
        "feeAmount": format_crypto(totals.fee, planned.decimals),
        "refundAmount": format_crypto(totals.refund, planned.decimals),
        "debtAmount": format_crypto(totals.offset, planned.decimals),
        "amount": format_crypto(totals.amount, planned.decimals),
        "paymentCount": planned.payment_count,
        "exchangeRate": {
            part.coin: {
                "rate": shown_rate(f"{part.price.rate:f}"),
                "source": part.price.source,
                "quotedAt": format_instant(part.price.quoted_at),
            }
            for part in planned.parts
            if part.price is not None
        }
        or None,
        "problem": problem or None,
        "problemMessage": wording.refused(problem, planned.currency) or None,
    }


def _offset_record(offset: PlannedOffset) -> dict[str, Any]:
    taken, repaid, price = offset.taken, offset.repaid, offset.price
    return {
        "network": taken.network,
        "cryptocurrency": taken.coin,
        "amount": format_crypto(taken.amount, taken.decimals),
        "debtNetwork": repaid.network,
        "debtCryptocurrency": repaid.coin,
        "debtAmount": format_crypto(repaid.amount, repaid.decimals),
        "rate": shown_rate(f"{offset.rate:f}"),
        "source": price.source if price else None,
        "quotedAt": format_instant(price.quoted_at) if price else None,
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
