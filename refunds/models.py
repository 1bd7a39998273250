"""Money back to a payer."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Self

from django.db import models
from django.db.models import Q

from config import ids
from config.environments import Environment
from config.fields import UnitsField
from merchants.counting import Counted
from merchants.models import Merchant
from payments.models import Discrepancy, Payment
from payments.transfers.models import Payout
from refunds.states import ENDED, RefundStatus


class RefundQuerySet(models.QuerySet["Refund"]):
    def of(self, merchant: Merchant, environment: str) -> Self:
        return self.filter(merchant=merchant, environment=environment)

    def open(self) -> Self:
        return self.exclude(status__in=ENDED)


class Refund(models.Model):
    """A part of a payment's money, or money that waits in suspense, on its way back. Its money is reserved from birth.

    `amount` is what leaves, in base units; `fiat_amount` is what it stands for at the payment's quote, empty for
    money that was never part of the price.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    payment = models.ForeignKey(Payment, on_delete=models.PROTECT, related_name="refunds")
    discrepancy = models.ForeignKey(
        Discrepancy, null=True, on_delete=models.PROTECT, related_name="refunds", help_text="The money in suspense."
    )
    status = models.CharField(max_length=20, choices=RefundStatus.choices, default=RefundStatus.PENDING)
    version = models.PositiveIntegerField(default=1)

    fiat_amount = models.BigIntegerField(null=True, help_text="In minor units of the payment's currency.")
    amount = UnitsField()
    network = models.CharField(max_length=20)
    cryptocurrency = models.CharField(max_length=8)
    decimals = models.PositiveSmallIntegerField(help_text="Of the coin on this network.")

    destination = models.CharField(max_length=80, blank=True, help_text="Empty while nobody has named one.")
    memo = models.CharField(max_length=30, blank=True)
    reason = models.CharField(max_length=500, blank=True)
    metadata = models.JSONField(default=dict)
    requested_by = models.CharField(max_length=120, blank=True, help_text="The key or the person that asked for it.")

    payout = models.OneToOneField(Payout, null=True, on_delete=models.PROTECT, related_name="refund")
    transaction_hash = models.CharField(max_length=80, blank=True)
    failure_code = models.CharField(max_length=40, blank=True)
    failure_message = models.CharField(max_length=300, blank=True)
    completed_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager[Refund]] = RefundQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(environment__in=Environment.values), name="refund_environment"),
            models.CheckConstraint(condition=Q(status__in=RefundStatus.values), name="refund_status"),
            models.CheckConstraint(condition=Q(amount__gt=0), name="refund_amount_positive"),
            models.CheckConstraint(
                condition=Q(fiat_amount__isnull=True) | Q(fiat_amount__gte=0), name="refund_fiat_not_negative"
            ),
            models.CheckConstraint(
                condition=Q(status__in=[RefundStatus.REQUIRES_ACTION, *ENDED]) | Q(payout__isnull=False),
                name="refund_open_has_payout",
            ),
            models.UniqueConstraint(
                fields=["discrepancy"],
                name="refund_of_discrepancy_once",
                condition=Q(discrepancy__isnull=False) & ~Q(status__in=[RefundStatus.FAILED, RefundStatus.CANCELLED]),
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["merchant", "environment", "id"], name="refund_list"),
            models.Index(fields=["merchant", "environment", "status", "id"], name="refund_list_by_status"),
            models.Index(
                fields=["status", "id"],
                name="refund_open",
                condition=Q(status__in=[RefundStatus.PENDING, RefundStatus.PROCESSING]),
            ),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def public_id(self) -> str:
        return ids.REFUND.encode(self.id)

    @property
    def created_at(self) -> datetime:
        return ids.created_at_of(self.id)


REFUNDS = Counted("refund", Refund)
"""How `totalCount` counts them."""
