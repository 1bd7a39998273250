"""Finds what is due: periods that have ended, and settlements that can go on. Any number may run at once.

The rows are the queue. Other workers skip what one has leased or locked; what it did not do, or lost when its process
died, the next call finds again.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Final

import structlog
from django.db.models import OuterRef, QuerySet, Subquery
from django.utils import timezone

from config.database.leases import lease
from config.periodic.containment import contained
from merchants.models import Merchant, MerchantSettings, SettlementFrequency
from settlements.models import Settlement, SettlementRun
from settlements.payouts import handover
from settlements.plans.periods import due_period
from settlements.run_creation import run_scheduled
from settlements.states import SettlementStatus

logger = structlog.get_logger(__name__)

LEASE: Final = timedelta(seconds=30)
"""Time for a worker to query the network about the wallet of a settlement it has leased."""

ADVANCED_MAX: Final = 500
"""Settlements of one call, at most."""


def run_due(
    now: datetime | None = None,
    *,
    merchant: Merchant | None = None,
    environment: str | None = None,
    on_run: Callable[[SettlementRun], object] | None = None,
) -> int:
    """Make every run that is due; returns how many. One that fails is logged, and the others go on."""
    now = now or timezone.now()
    done = 0
    for merchant_id, run_environment in list(_with_period_due(now, merchant, environment)):
        with contained("settlement run failed", merchant=str(merchant_id), environment=run_environment):
            run = run_scheduled(merchant_id=merchant_id, environment=run_environment, now=now)
            if run is not None:
                done += 1
                if on_run is not None:
                    on_run(run)
    return done


def _with_period_due(
    now: datetime, merchant: Merchant | None, environment: str | None
) -> Iterator[tuple[uuid.UUID, str]]:
    """Merchants with a period that has ended and was not run, by their last run; read before anything is locked."""
    runs = SettlementRun.objects.filter(merchant=OuterRef("merchant"), environment=OuterRef("environment"))
    found = (
        MerchantSettings.objects.filter(merchant__is_active=True)
        .exclude(settlement_frequency=SettlementFrequency.MANUAL)
        .select_related("merchant")
        .annotate(last_end=Subquery(runs.order_by("-id").values("period_end")[:1]))
    )
    if merchant is not None:
        found = found.filter(merchant=merchant)
    if environment is not None:
        found = found.filter(environment=environment)
    for chosen in found.order_by("merchant", "environment").iterator(chunk_size=2_000):
        is_due = False
        with contained("schedule cannot be read", merchant=str(chosen.merchant_id), environment=chosen.environment):
            is_due = due_period(chosen, chosen.last_end, now) is not None
        if is_due:
            yield chosen.merchant_id, chosen.environment


def advance_due(now: datetime | None = None, *, limit: int = ADVANCED_MAX) -> int:
    """Advance settlements that can go on; returns how many were handed over or given up."""
    now = now or timezone.now()
    done = 0
    due = that_can_go_on(now).order_by("next_step_at").only("pk")
    for leased in lease(due, "next_step_at", until=now + LEASE, limit=limit):
        with contained("settlement could not go on", settlement=str(leased.pk)):
            settlement = handover.advance(leased.pk)
            done += settlement.status != SettlementStatus.PENDING or settlement.payout_id is not None
    return done


def that_can_go_on(now: datetime) -> QuerySet[Settlement]:
    """Settlements that are due and have no payout yet."""
    return Settlement.objects.due(now).filter(payout__isnull=True)
