"""Periods of a merchant's schedule that are still to be run: the one source for runs, previews and pages.

A period is run once, however the schedule is moved while it lasts: its key names its date, week or month. So what is
shown as coming is what will be run, and what is due has no run yet.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import islice

from django.db.models import Q, QuerySet

from merchants.models import MerchantSettings
from settlements.models import SettlementRun
from settlements.plans.schedule import Period, ended_periods, periods_after

RUNS_SHOWN = 3
"""Number of coming runs in a preview."""


def due_period(chosen: MerchantSettings, last_end: datetime | None, now: datetime) -> Period | None:
    """The period that ended last and has no run; None when all have one. `last_end` is where the last run ended.

    It includes missed periods: after an outage there is one run, not one for each day.
    """
    found = _ending_after(last_end, chosen, ended_periods(chosen, now))
    if found:
        runs = _runs(chosen).filter(period_key__in=[period.key for period in found])
        known = set(runs.values_list("period_key", flat=True))
        found = [period for period in found if period.key not in known]
    return found[-1] if found else None


def coming_periods(chosen: MerchantSettings, now: datetime, count: int) -> list[Period]:
    """The next `count` periods that will be run, in their order; none when the merchant requests each settlement."""
    later = periods_after(chosen, now)
    found: list[Period] = []
    while len(found) < count and (more := list(islice(later, count))):
        # Which of them have a run, and where the last run of all ended: one query for pages.
        newest = Q(pk__in=_runs(chosen).order_by("-id").values("pk")[:1])
        runs = _runs(chosen).filter(newest | Q(period_key__in=[period.key for period in more])).order_by("-id")
        known = dict(runs.values_list("period_key", "period_end"))
        last_end = next(iter(known.values()), None)
        found += [period for period in _ending_after(last_end, chosen, more) if period.key not in known]
        if last_end is not None and last_end > more[-1].ends_at:  # the periods between end before the last run
            later = periods_after(chosen, last_end)
    return found[:count]


def last_end_of(chosen: MerchantSettings) -> datetime | None:
    """End of the merchant's last run; None before the first."""
    return _runs(chosen).order_by("-id").values_list("period_end", flat=True).first()


def _ending_after(last_end: datetime | None, chosen: MerchantSettings, periods: Iterable[Period]) -> list[Period]:
    """Periods that end after the last run, or after the merchant was created."""
    return [period for period in periods if period.ends_at > (last_end or chosen.merchant.created_at)]


def _runs(chosen: MerchantSettings) -> QuerySet[SettlementRun]:
    return SettlementRun.objects.filter(merchant=chosen.merchant_id, environment=chosen.environment)
