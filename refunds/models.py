"""Money back to a payer."""

from __future__ import annotations

from typing import ClassVar, Self

from django.db import models
from django.db.models import Q

from config import ids
from config.environments import Environment
from config.fields import ExactJSONField, UnitsField
from merchants.counting import Counted
from merchants.models import Merchant, OwnedQuerySet
from payments.models import Discrepancy, Payment
from payments.transfers.models import Payout
from payments.transfers.states import MemoType, PayoutStatus
from refunds.states import ENDED, UNDONE, NamedBy, RefundStatus


class RefundQuerySet(OwnedQuerySet["Refund"]):
    def standing(self) -> Self:
        """Refunds whose money was given back, or is reserved for it."""
        return self.exclude(status__in=UNDONE)

    def to_resolve(self) -> Self:
        """Refunds whose sender was not looked up yet."""
        return self.filter(status=RefundStatus.PENDING, payout__isnull=True)

    def to_follow(self) -> Self:
        """Refunds whose payout has changed since they were last updated."""
        sent = Q(status=RefundStatus.PENDING, payout__status=PayoutStatus.SENDING)
        sent_again = Q(status=RefundStatus.PROCESSING, payout__status__in=[PayoutStatus.READY, PayoutStatus.HELD])
        over = Q(
            status__in=[RefundStatus.PENDING, RefundStatus.PROCESSING],
            payout__status__in=[PayoutStatus.PAID, PayoutStatus.FAILED],
        )
        return self.filter(sent | sent_again | over)


class Refund(ids.KeyedByTime, ids.PublicRecord, models.Model):
    """A part of a payment's money, or money in suspense, on its way back. It is reserved when the refund is made.

    `amount` is what leaves, in base units; `fiat_amount` is its value at the payment's quote, empty for a coin that was
    not quoted. The payout is requested as soon as there is a destination, and has the refund's own key: the money waits
    in that payout's ledger account from the beginning.
    """

    public_ids: ClassVar = ids.REFUND

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
    memo_type = models.CharField(
        default="",
        db_default="",
        max_length=4,
        choices=MemoType.choices,
        blank=True,
        help_text="Empty: digits are a number.",
    )
    named_by = models.CharField(max_length=10, choices=NamedBy.choices, blank=True, help_text="Who named it.")
    reason = models.CharField(max_length=500, blank=True)
    metadata = ExactJSONField(default=dict)
    requested_by = models.CharField(max_length=120, blank=True, help_text="The key or the person that asked for it.")

    returns_fee = models.BooleanField(
        default=False,
        db_default=False,
        help_text="The fee on what is given back is given back too: the operator's policy when it was made.",
    )
    token_fee = UnitsField(
        db_default=0, default=0, help_text="What the token kept of it on the way: the recipient got so much less."
    )
    claimable_balance = models.CharField(
        default="",
        db_default="",
        max_length=80,
        blank=True,
        help_text="The id of what it was set aside as, for its recipient to claim.",
    )

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
            # Pending without a payout: it was not checked yet whether the sender can be paid back.
            models.CheckConstraint(
                condition=Q(payout__isnull=True, destination="") | (Q(payout__isnull=False) & ~Q(destination="")),
                name="refund_paid_once_it_has_an_address",
            ),
            models.CheckConstraint(
                condition=~Q(status__in=[RefundStatus.PROCESSING, RefundStatus.COMPLETED, RefundStatus.FAILED])
                | Q(payout__isnull=False),
                name="refund_sent_by_a_payout",
            ),
            models.CheckConstraint(
                condition=~Q(status=RefundStatus.REQUIRES_ACTION) | Q(payout__isnull=True),
                name="refund_without_address_waits",
            ),
            models.CheckConstraint(
                condition=Q(status__in=ENDED, ended_at__isnull=False)
                | (~Q(status__in=ENDED) & Q(ended_at__isnull=True)),
                name="refund_ends_once",
            ),
            models.UniqueConstraint(
                fields=["discrepancy"],
                name="refund_of_discrepancy_once",
                condition=Q(discrepancy__isnull=False) & ~Q(status__in=UNDONE),
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
    def received(self) -> int:
        """Amount the recipient gets, in base units."""
        return int(self.amount) - int(self.token_fee)


class RefundBatch(ids.KeyedByTime, ids.PublicRecord, models.Model):
    """Refunds that a merchant requested by one file. The same rows are one batch, however often they are uploaded."""

    public_ids: ClassVar = ids.REFUND_BATCH

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    digest = models.BinaryField(max_length=32, help_text="Of its rows, whatever the file was called.")
    uploaded_by = models.CharField(max_length=120)
    confirmed_at = models.DateTimeField(null=True, help_text="Empty: a preview, of which nothing is refunded.")
    confirmed_by = models.CharField(max_length=120, blank=True)

    objects: ClassVar[models.Manager[RefundBatch]] = OwnedQuerySet["RefundBatch"].as_manager()

    class Meta:
        verbose_name_plural = "refund batches"
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(environment__in=Environment.values), name="refund_batch_environment"),
            models.UniqueConstraint(fields=["merchant", "environment", "digest"], name="refund_batch_once"),
        ]

    def __str__(self) -> str:
        return self.public_id


class RefundBatchRow(models.Model):
    """One row of a batch: what the preview has shown, and the refund that was made of it, or why none was."""

    batch = models.ForeignKey(RefundBatch, on_delete=models.PROTECT, related_name="rows")
    line = models.PositiveIntegerField(help_text="In the file.")
    payment = models.ForeignKey(Payment, on_delete=models.PROTECT, related_name="+")
    asked = models.DecimalField(
        max_digits=16, decimal_places=3, null=True, help_text="In the payment's currency; empty: all that is left."
    )
    fiat_amount = models.BigIntegerField(help_text="As previewed, in minor units of the payment's currency.")
    amount = UnitsField(help_text="As previewed.")
    destination = models.CharField(max_length=80, blank=True)
    memo = models.CharField(max_length=64, blank=True)
    reason = models.CharField(max_length=500, blank=True)
    has_sender = models.BooleanField(help_text="One address has paid, as far as was known at the preview.")
    refund = models.OneToOneField(Refund, null=True, on_delete=models.PROTECT, related_name="+")
    problem = models.CharField(max_length=300, blank=True, help_text="Why it was not refunded.")
    done_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["batch", "line"], name="refund_batch_row_once"),
            models.UniqueConstraint(fields=["batch", "payment"], name="refund_batch_payment_once"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["id"], name="refund_batch_row_due", condition=Q(done_at__isnull=True)),
        ]

    def __str__(self) -> str:
        return f"{self.batch} line {self.line}"


REFUNDS = Counted("refund", Refund)
"""The counter behind `totalCount` of refunds."""
