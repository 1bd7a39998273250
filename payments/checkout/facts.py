"""What is known of a payment at one moment, for its payer's page, which asks for it every two seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from config import ids
from config.database.prepared import KeptQuery
from config.pages import wording
from merchants.ledger.models import Stop
from payments.chains import registry
from payments.chains.profiles import NetworkProfile
from payments.deposits.models import ScanCursor
from payments.models import Deposit, Discrepancy, Payment
from payments.states import DepositStatus, DiscrepancyStatus, PaymentStatus

NETWORK_SILENCE = timedelta(seconds=15)
"""Time a network may be unavailable before the page reports it."""


@dataclass(frozen=True, slots=True)
class PayerFacts:
    """The payment with all that was seen of it, at one moment."""

    payment: Payment
    deposits: Sequence[Deposit]
    discrepancies: Sequence[Discrepancy]
    network: NetworkProfile
    cursor: ScanCursor | None
    is_halted: bool
    now: datetime

    @property
    def in_time(self) -> bool:
        return self.now < self.payment.expires_at

    @property
    def standing(self) -> list[Deposit]:
        """Transfers of the right coin on the right network that no reorganisation has undone."""
        return [
            deposit
            for deposit in self.deposits
            if deposit.status != DepositStatus.ORPHANED
            and deposit.network == self.payment.network
            and deposit.asset == self.payment.cryptocurrency
        ]

    @property
    def seen(self) -> int:
        return sum(deposit.amount for deposit in self.standing)

    @property
    def missing(self) -> int:
        due: int = self.payment.due
        return max(0, due - self.seen)

    @property
    def network_is_silent(self) -> bool:
        cursor = self.cursor
        if cursor is None:
            return False
        failing = cursor.failing_since is not None and self.now - cursor.failing_since >= NETWORK_SILENCE
        return failing or self.is_halted

    @property
    def network_has_no_new_blocks(self) -> bool:
        cursor = self.cursor
        return cursor is not None and cursor.head_standstill.total_seconds() >= self.network.head_stall_seconds

    @property
    def finality_is_delayed(self) -> bool:
        """True if a deposit waits to become final while no block becomes final."""
        cursor = self.cursor
        if cursor is None or not self.payment.require_finalized:
            return False
        waiting = any(deposit.height > cursor.finalized_height for deposit in self.standing)
        return waiting and cursor.finality_standstill.total_seconds() >= self.network.finality_stall_seconds

    def held(self, units: int) -> str:
        return wording.coins(units, self.payment.decimals, self.payment.cryptocurrency)

    def to_send(self, units: int) -> str:
        return wording.left_to_right(
            f"{wording.coins_to_send(units, self.payment.decimals)} {self.payment.cryptocurrency}"
        )


def facts_of(payment: Payment, now: datetime) -> PayerFacts:
    """The payment with what was seen of it by now: four queries, two while no transfer has come."""
    watched = payment.status != PaymentStatus.CREATED or payment.deposit_count > 0
    network = (payment.environment, payment.network)
    return PayerFacts(
        payment=payment,
        deposits=_DEPOSITS.found(payment.pk) if watched else [],
        discrepancies=_OPEN_DISCREPANCIES.found(payment.pk) if watched else [],
        network=registry.known_profile(*network),
        cursor=next(iter(_CURSOR.found(*network)), None),
        is_halted=bool(_HALTS.found(*network)),
        now=now,
    )


_DEPOSITS = KeptQuery(lambda key: Deposit.objects.filter(payment=key).order_by("id"), ids.FIRST_KEY)
_OPEN_DISCREPANCIES = KeptQuery(
    lambda key: Discrepancy.objects.filter(payment=key, status=DiscrepancyStatus.OPEN).order_by("id"), ids.FIRST_KEY
)
_CURSOR = KeptQuery(
    lambda environment, network: ScanCursor.objects.filter(environment=environment, network=network),
    "environment",
    "network",
    is_planned_once=True,
)
_HALTS = KeptQuery(Stop.objects.halting().of_network, "environment", "network", is_planned_once=True)
