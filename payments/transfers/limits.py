"""The limits of payouts without approval. Pure. What coins are worth in dollars is exact enough for limits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from config.coins import USD_SCALE
from payments.transfers.states import HoldReason

WINDOW = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Limits:
    """Whole US dollars; None is no limit."""

    approval_above: int | None = None
    transfer: int | None = None
    daily: int | None = None
    merchant_daily: int | None = None
    approvals_needed: int = 2


@dataclass(frozen=True, slots=True)
class Spent:
    """Amounts that left in the last 24 hours or are on their way, in 10^-18 dollars."""

    by_all: int = 0
    by_merchant: int = 0


def why_held(usd: int, limits: Limits, spent: Spent, *, approvals: int) -> HoldReason | None:
    """The reason a payout of `usd` units of 10^-18 dollars may not leave now; None when it may.

    Approvals lift all limits except that of a single transfer, which only a change of the policy lifts.
    """
    if _exceeds(usd, limits.transfer):
        return HoldReason.OVER_LIMIT
    if approvals >= limits.approvals_needed:
        return None
    if _exceeds(usd, limits.approval_above):
        return HoldReason.APPROVAL
    if _exceeds(spent.by_all + usd, limits.daily):
        return HoldReason.DAILY_LIMIT
    if _exceeds(spent.by_merchant + usd, limits.merchant_daily):
        return HoldReason.MERCHANT_LIMIT
    return None


def _exceeds(usd: int, limit: int | None) -> bool:
    return limit is not None and usd > limit * 10**USD_SCALE
