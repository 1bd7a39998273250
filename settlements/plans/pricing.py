"""The moment whose rates settlements are converted at, by the operator's policy, and the prices promised by it."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from django.conf import settings

from payments.rates.quoting import Quote
from settlements.models import Settlement
from settlements.states import RateMoment


def rate_moment() -> RateMoment:
    """The operator's policy for settlements that are made now."""
    return RateMoment(settings.CONVERSION_RATE)


def agreed_prices(settlement: Settlement, currency: str) -> dict[str, Quote]:
    """By coin, what the merchant was promised when the settlement was made; nothing where nothing was promised, or it
    was in another currency."""
    if settlement.rate_moment != RateMoment.WHEN_MADE or settlement.currency != currency:
        return {}
    return {
        part["coin"]: Quote(Decimal(part["rate"]), part["source"], datetime.fromisoformat(part["quotedAt"]))
        for part in settlement.coins
        if part["rate"]
    }
