"""What a merchant has, and what has been going on: the figures on the start page, and what waits in suspense."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Sum

from config import ids
from config.api.pagination import KeyRange
from merchants import counting
from merchants.ledger.balances import merchant_balances
from merchants.models import Merchant
from payments import wording
from payments.chains import registry
from payments.models import PAYMENTS, Discrepancy
from payments.states import DiscrepancyStatus, PaymentStatus

PERIOD = timedelta(days=30)
_OPEN = (PaymentStatus.CREATED, PaymentStatus.PENDING, PaymentStatus.UNDERPAID)
_PAID = (PaymentStatus.COMPLETED, PaymentStatus.PARTIALLY_REFUNDED, PaymentStatus.REFUNDED)


@dataclass(frozen=True)
class Balance:
    """What a merchant has of a coin on a network."""

    coin: str
    network: str
    available: str


@dataclass(frozen=True)
class Figures:
    """Counts of payments created in the last thirty days, and of money that waits for a decision."""

    created: int
    paid: int
    open: int
    undecided: int


def balances(merchant: Merchant, environment: str) -> list[Balance]:
    shown = []
    for balance in merchant_balances(merchant, environment):
        network = registry.known_profile(environment, balance.network)
        decimals = network.assets[balance.asset].decimals
        shown.append(
            Balance(
                coin=balance.asset,
                network=network.name,
                available=wording.coins_held(balance.available - balance.receivable, decimals),
            )
        )
    return shown


def in_suspense(merchant: Merchant, environment: str) -> dict[tuple[str, str], int]:
    """Base units that wait for the merchant's decision, by network and coin."""
    waiting = Discrepancy.objects.filter(merchant=merchant, environment=environment, status=DiscrepancyStatus.OPEN)
    totals = waiting.values_list("network", "asset").annotate(total=Sum("amount"))
    return {(network, asset): int(total) for network, asset, total in totals}


def figures(merchant: Merchant, environment: str, now: datetime) -> Figures:
    # From the beginning of a day: whole days are counted already, parts of one are not.
    first_day = (now - PERIOD).replace(hour=0, minute=0, second=0, microsecond=0)
    lately = KeyRange(first=ids.first_uuid_at(first_day))

    def count(*statuses: PaymentStatus) -> int:
        return counting.total(
            PAYMENTS, merchant_id=merchant.pk, environment=environment, statuses=list(statuses) or None, keys=lately
        )

    undecided = Discrepancy.objects.filter(
        merchant=merchant, environment=environment, status=DiscrepancyStatus.OPEN
    ).count()
    return Figures(created=count(), paid=count(*_PAID), open=count(*_OPEN), undecided=undecided)
