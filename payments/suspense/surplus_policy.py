"""Automatic handling of a surplus: kept, given back, or left for a decision.

Each way takes the same steps as a person's decision, so that events, postings and reversals are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from django.db.models import F, Q, QuerySet
from django.utils import timezone

from config import ids
from config.errors import DomainError
from config.periodic.containment import contained
from merchants.models import MerchantSettings, Surplus
from payments.deposits.assessment import BASIS_POINTS
from payments.models import Discrepancy
from payments.states import DiscrepancyKind, DiscrepancyStatus
from payments.suspense.acceptance import accept_discrepancy

LEAST_GIVEN_BACK = 1
"""Whole coins. Less is not sent back by itself: whoever overpays by crumbs would have us spend fees."""
DECIDED_BY = "policy"
BATCH = 200
_SCALES = range(19)


class Outcome(StrEnum):
    """Outcome for a surplus."""

    KEPT = "kept"
    GIVEN_BACK = "given_back"
    WAITS = "waits"


@dataclass(frozen=True, slots=True)
class SurplusPolicy:
    """A merchant's policy; `kept_bps` is of the price, in hundredths of a percent."""

    choice: str = Surplus.ASK
    kept_bps: int = 0

    def outcome(self, surplus: int, *, due: int, decimals: int) -> Outcome:
        """Outcome for a surplus over a price, both in base units."""
        if self.choice == Surplus.KEEP and surplus * BASIS_POINTS <= due * self.kept_bps:
            return Outcome.KEPT
        if self.choice == Surplus.GIVE_BACK and surplus >= LEAST_GIVEN_BACK * 10**decimals:
            return Outcome.GIVEN_BACK
        return Outcome.WAITS


def keep_due() -> int:
    """Accept every surplus that its merchant's policy keeps; returns how many."""
    done = 0
    for chosen in _who_chose(Surplus.KEEP):
        # All that a payment had too much counts, so that many small ones are not kept one by one.
        kept = F("payment__due") * chosen.surplus_kept_bps / BASIS_POINTS
        for discrepancy in _waiting(chosen).filter(payment__surplus__lte=kept).order_by("id")[:BATCH]:
            with contained("surplus could not be kept", expected=(DomainError,), discrepancy=discrepancy.public_id):
                accept_discrepancy(discrepancy, resolved_by=DECIDED_BY)
                done += 1
    return done


def to_give_back() -> Iterator[QuerySet[Discrepancy]]:
    """Every open surplus that its merchant's policy gives back, by merchant."""
    is_large = Q()
    for decimals in _SCALES:
        is_large |= Q(decimals=decimals, amount__gte=LEAST_GIVEN_BACK * 10**decimals)
    for chosen in _who_chose(Surplus.GIVE_BACK):
        yield _waiting(chosen).filter(is_large)


def _who_chose(choice: Surplus) -> Iterable[MerchantSettings]:
    return MerchantSettings.objects.filter(surplus=choice, surplus_since__isnull=False).order_by("id")


def _waiting(chosen: MerchantSettings) -> QuerySet[Discrepancy]:
    """Open surplus of payments that were made since the merchant chose this."""
    since = chosen.surplus_since or timezone.now()
    return Discrepancy.objects.filter(
        merchant=chosen.merchant_id,
        environment=chosen.environment,
        status=DiscrepancyStatus.OPEN,
        kind=DiscrepancyKind.OVERPAID,
        payment__gte=ids.first_uuid_at(since),
    )
