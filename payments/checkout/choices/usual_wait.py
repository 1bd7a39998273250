"""Usual wait of payments on a network lately, from the transfer that was seen to the payment that counts."""

from __future__ import annotations

from datetime import datetime, timedelta
from statistics import median

from config import ids
from payments.chains.profiles import CreditRule
from payments.models import Deposit

_LOOKED_BACK = timedelta(days=1)
_FEWEST, _MOST = 5, 21


def usual_wait(environment: str, network: str, rule: CreditRule, now: datetime) -> float | None:
    """Seconds that the last transfers on a network needed until they were credited: their median.

    Only payments that had to wait for as much are compared. None where fewer than five were credited within a day.
    """
    credited = Deposit.objects.filter(
        environment=environment,
        network=network,
        id__gte=ids.first_uuid_at(now - _LOOKED_BACK),
        credited_at__isnull=False,
        payment__required_confirmations=rule.confirmations,
        payment__require_finalized=rule.require_finalized,
    )
    times = credited.order_by("-id").values_list("seen_at", "credited_at")[:_MOST]
    waits = [(counted - seen).total_seconds() for seen, counted in times if counted is not None]
    return max(0.0, median(waits)) if len(waits) >= _FEWEST else None
