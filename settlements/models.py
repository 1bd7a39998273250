"""Money out to merchants: each run of a merchant's schedule, and a settlement for each wallet it paid."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Self

from django.db import models
from django.db.models import Q
from django.utils import timezone

from config import ids
from config.environments import Environment
from config.fields import UnitsField
from merchants.counting import Counted
from merchants.models import Merchant
from payments.transfers.models import Payout
from settlements.states import SettlementProblem, SettlementStatus, Trigger


class SettlementRun(models.Model):
    """One period of one merchant, run once: whoever inserts this row makes its settlements, nobody else does."""

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    period_key = models.CharField(
        max_length=40, help_text="The local date, week or month; or the instant it was asked."
    )
    trigger = models.CharField(max_length=10, choices=Trigger.choices, default=Trigger.SCHEDULE)
    requested_by = models.CharField(max_length=120, blank=True)
    period_start = models.DateTimeField()
    period_end = models.DateTimeField(help_text="What happened up to then is settled.")
    scheduled_for = models.DateTimeField()
    carried_over = models.JSONField(default=list, help_text="What was not settled, and why, by network and wallet.")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["merchant", "environment", "period_key"], name="settlement_run_once"),
        ]
        indexes: ClassVar = [models.Index(fields=["merchant", "environment", "-id"], name="settlement_run_latest")]

    def __str__(self) -> str:
        return f"{self.merchant_id} {self.environment} {self.period_key}"

    @property
    def created_at(self) -> datetime:
        return ids.created_at_of(self.id)


class SettlementQuerySet(models.QuerySet["Settlement"]):
    def of(self, merchant: Merchant, environment: str) -> Self:
        return self.filter(merchant=merchant, environment=environment)

    def due(self, now: datetime) -> Self:
        """Those that somebody should look at again: not handed over for payment yet, or handed over and not ended."""
        return self.filter(status=SettlementStatus.PENDING, next_step_at__lte=now)


class Settlement(models.Model):
    """What a merchant is paid to one wallet for one period, in one coin.

    `gross - fee - refund = amount`, in base units of the settlement currency, exactly. Until coins of another kind are
    converted these are estimates at the rate of the run; `converted_at` says that they stand.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    run = models.ForeignKey(SettlementRun, on_delete=models.PROTECT, related_name="settlements")
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    period_key = models.CharField(max_length=40)
    status = models.CharField(max_length=10, choices=SettlementStatus.choices, default=SettlementStatus.PENDING)
    version = models.PositiveIntegerField(default=1)

    network = models.CharField(max_length=20)
    destination = models.CharField(max_length=80)
    currency = models.CharField(max_length=8, help_text="The coin it is paid in.")
    decimals = models.PositiveSmallIntegerField(help_text="Of that coin on this network.")
    gross = UnitsField()
    fee = UnitsField()
    refund = UnitsField(help_text="Refunds and whatever else came off.")
    amount = UnitsField()
    token_fee = UnitsField(default=0, help_text="What the token kept of the amount: so much less arrived.")
    fee_bps = models.PositiveSmallIntegerField(default=0)
    payment_count = models.PositiveIntegerField(default=0)
    coins = models.JSONField(
        default=list,
        help_text="By coin: gross, fee, refund and net in base units of that coin, as text; once converted its rate, "
        "source, quotedAt and what it became in the settlement currency.",
    )
    converted_at = models.DateTimeField(null=True, blank=True)

    period_start = models.DateTimeField()
    period_end = models.DateTimeField()
    scheduled_for = models.DateTimeField()
    next_step_at = models.DateTimeField(null=True, default=timezone.now, help_text="Empty once it has ended.")
    payout = models.OneToOneField(Payout, null=True, on_delete=models.PROTECT, related_name="settlement")
    transaction_hash = models.CharField(max_length=80, blank=True)
    failure_code = models.CharField(max_length=40, choices=SettlementProblem.choices, blank=True)
    failure_message = models.CharField(max_length=300, blank=True)
    may_retry = models.BooleanField(
        default=False, help_text="Somebody says that the wallet it failed for can be paid now, or named another one."
    )
    completed_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager[Settlement]] = SettlementQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["merchant", "environment", "network", "destination", "period_key"],
                name="settlement_once_per_period",
            ),
            models.CheckConstraint(condition=Q(environment__in=Environment.values), name="settlement_environment"),
            models.CheckConstraint(condition=Q(status__in=SettlementStatus.values), name="settlement_status"),
            models.CheckConstraint(
                condition=Q(amount__gt=0, fee__gte=0, refund__gte=0)
                & Q(gross=models.F("amount") + models.F("fee") + models.F("refund")),
                name="settlement_adds_up",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["merchant", "environment", "id"], name="settlement_list"),
            models.Index(fields=["merchant", "environment", "status", "id"], name="settlement_list_by_status"),
            models.Index(fields=["next_step_at"], name="settlement_due", condition=Q(status=SettlementStatus.PENDING)),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def received(self) -> int:
        """What arrives at the wallet of the amount, in base units."""
        return int(self.amount) - int(self.token_fee)

    @property
    def public_id(self) -> str:
        return ids.SETTLEMENT.encode(self.id)

    @property
    def created_at(self) -> datetime:
        return ids.created_at_of(self.id)


SETTLEMENTS = Counted("settlement", Settlement)
"""How `totalCount` counts them."""
