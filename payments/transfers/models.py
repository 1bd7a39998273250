"""Money leaving: what is to be paid, the wallets it leaves from, and every on-chain transaction signed for it.

A payout is the intent: its money is reserved in the ledger account `payout` of its id before it exists. A transfer is
one place (sequence) in a wallet's order of on-chain transactions; an envelope is one signed version of it. Envelopes
are stored before they are sent and never forgotten, because any of them may be the one that is mined.
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone

from config import ids
from config.environments import Environment
from config.fields import UnitsField
from merchants.models import Merchant, User
from payments.transfers.states import (
    OPEN_TRANSFERS,
    HoldReason,
    PayoutStatus,
    TransferPurpose,
    TransferStatus,
)


class PayoutPolicy(models.Model):
    """What may leave without anybody looking. One row for each environment; amounts in whole US dollars."""

    environment = models.CharField(max_length=10, choices=Environment.choices, unique=True)
    payouts_enabled = models.BooleanField(
        default=True, help_text="The kill switch: turned off, nothing is signed and nothing is sent."
    )
    approval_above = models.PositiveBigIntegerField(
        null=True, blank=True, default=10_000, help_text="Above this, two operators must approve; empty: never."
    )
    transfer_limit = models.PositiveBigIntegerField(
        null=True, blank=True, default=100_000, help_text="Above this, nothing is sent at all; empty: no limit."
    )
    daily_limit = models.PositiveBigIntegerField(
        null=True,
        blank=True,
        default=500_000,
        help_text="In any 24 hours without approval, everybody together; empty: no limit.",
    )
    merchant_daily_limit = models.PositiveBigIntegerField(
        null=True,
        blank=True,
        default=100_000,
        help_text="In any 24 hours without approval, for one merchant; empty: no limit.",
    )

    class Meta:
        verbose_name_plural = "payout policies"
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(environment__in=Environment.values), name="payout_policy_environment"),
        ]

    def __str__(self) -> str:
        return f"payout policy ({self.environment})"


class Wallet(models.Model):
    """The hot wallet of a network, and the next place in its order that has never been signed for."""

    environment = models.CharField(max_length=10, choices=Environment.choices)
    network = models.CharField(max_length=20)
    address = models.CharField(max_length=80)
    next_sequence = models.BigIntegerField(default=0, help_text="Above every sequence ever signed for.")
    frozen_at = models.DateTimeField(null=True, blank=True, help_text="Nothing is signed until a person has looked.")
    frozen_reason = models.TextField(blank=True)
    checked_at = models.DateTimeField(null=True, help_text="When its network was last asked about it.")
    last_error = models.TextField(blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["environment", "network", "address"], name="wallet_once"),
            models.CheckConstraint(condition=Q(next_sequence__gte=0), name="wallet_sequence_not_negative"),
        ]

    def __str__(self) -> str:
        return f"{self.network} {self.address} ({self.environment})"


class Transfer(models.Model):
    """One place in a wallet's order of on-chain transactions, and what has become of it."""

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    wallet = models.ForeignKey(Wallet, on_delete=models.PROTECT, related_name="transfers")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    network = models.CharField(max_length=20)
    purpose = models.CharField(max_length=10, choices=TransferPurpose.choices, default=TransferPurpose.PAYOUT)
    asset = models.CharField(max_length=8, blank=True, help_text="Code of the coin that a sweep moves.")
    deposits = ArrayField(
        models.BigIntegerField(), default=list, blank=True, help_text="Numbers of the addresses that a sweep empties."
    )
    sequence = models.BigIntegerField()
    status = models.CharField(max_length=10, choices=TransferStatus.choices, default=TransferStatus.SIGNED)
    next_step_at = models.DateTimeField(
        null=True, default=timezone.now, help_text="When to send it again or to ask about it; empty once it is over."
    )
    send_count = models.PositiveIntegerField(default=0)
    sent_at = models.DateTimeField(null=True, help_text="When any version was first handed to the network.")
    transaction_hash = models.CharField(max_length=80, blank=True, help_text="Of the version that is in a block.")
    height = models.BigIntegerField(null=True)
    fee_units = UnitsField(default=0, help_text="Paid, in base units of the network's own coin.")
    last_error = models.TextField(blank=True, help_text="What the network said last; a hint, no verdict.")
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["wallet", "sequence"],
                name="transfer_once_per_sequence",
                condition=~Q(status=TransferStatus.DEAD),
            ),
            models.CheckConstraint(
                condition=Q(status__in=OPEN_TRANSFERS, next_step_at__isnull=False, finished_at__isnull=True)
                | (~Q(status__in=OPEN_TRANSFERS) & Q(next_step_at__isnull=True, finished_at__isnull=False)),
                name="transfer_due_while_open",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["wallet", "sequence"], name="transfer_open", condition=Q(status__in=OPEN_TRANSFERS)),
            models.Index(fields=["environment", "network", "finished_at"], name="transfer_finished"),
        ]

    def __str__(self) -> str:
        return f"{self.network} {self.sequence} {self.status}"

    @property
    def is_open(self) -> bool:
        return self.status in OPEN_TRANSFERS

    @property
    def created_at(self) -> datetime:
        return ids.created_at_of(self.id)


class Envelope(models.Model):
    """One signed version of a transfer: the bytes as they were stored before they were first sent."""

    transfer = models.ForeignKey(Transfer, on_delete=models.PROTECT, related_name="envelopes")
    raw = models.BinaryField()
    transaction_hash = models.CharField(max_length=80, unique=True)
    fee_limit_units = UnitsField(default=0)
    valid_until = models.DateTimeField(null=True)
    signed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return self.transaction_hash


class Payout(models.Model):
    """Somebody is to be paid. Its money waits in the ledger account `payout` of its id until it is paid or given up."""

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    environment = models.CharField(max_length=10, choices=Environment.choices)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+")
    reference = models.CharField(max_length=40, help_text="Public id of the refund or settlement it is for.")
    network = models.CharField(max_length=20)
    asset = models.CharField(max_length=8, help_text="Code of the coin.")
    decimals = models.PositiveSmallIntegerField(help_text="Of the coin on this network.")
    amount = UnitsField()
    arrived = UnitsField(
        null=True, help_text="What the recipient got, by the receipt; empty until it is paid, and for older payouts."
    )
    recipient = models.CharField(max_length=80)
    memo = models.CharField(max_length=30, blank=True)
    status = models.CharField(max_length=10, choices=PayoutStatus.choices, default=PayoutStatus.READY)
    hold_reason = models.CharField(max_length=30, choices=HoldReason.choices, blank=True)
    next_attempt_at = models.DateTimeField(
        null=True, default=timezone.now, help_text="When to look at it again; empty while it is sent, or over."
    )
    attempt_count = models.PositiveIntegerField(default=0, help_text="Transfers signed for it.")
    is_alone = models.BooleanField(default=False, help_text="It shares no on-chain transaction: one it was in failed.")
    transfer = models.ForeignKey(Transfer, null=True, on_delete=models.PROTECT, related_name="payouts")
    failure_code = models.CharField(max_length=40, blank=True)
    failure_message = models.CharField(max_length=300, blank=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["reference"], name="payout_once_per_reference"),
            models.CheckConstraint(condition=Q(amount__gt=0), name="payout_amount_positive"),
            models.CheckConstraint(
                condition=Q(arrived__isnull=True) | Q(arrived__gt=0), name="payout_arrived_positive"
            ),
            models.CheckConstraint(condition=Q(status__in=PayoutStatus.values), name="payout_status"),
            models.CheckConstraint(
                condition=~Q(status__in=[PayoutStatus.SENDING, PayoutStatus.PAID]) | Q(transfer__isnull=False),
                name="payout_sent_by_a_transfer",
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["environment", "network", "next_attempt_at"],
                name="payout_due",
                condition=Q(status__in=[PayoutStatus.READY, PayoutStatus.HELD]),
            ),
            models.Index(
                fields=["environment", "finished_at"], name="payout_paid", condition=Q(status=PayoutStatus.PAID)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.reference}: {self.amount} {self.asset} on {self.network}"

    @property
    def token_fee(self) -> int:
        """What the token kept of it on the way."""
        return 0 if self.arrived is None else int(self.amount) - int(self.arrived)

    @property
    def created_at(self) -> datetime:
        return ids.created_at_of(self.id)


class TransferLine(models.Model):
    """That a payout was part of a transfer, at this place of it; kept when the transfer came to nothing."""

    transfer = models.ForeignKey(Transfer, on_delete=models.PROTECT, related_name="lines")
    payout = models.ForeignKey(Payout, on_delete=models.PROTECT, related_name="lines")
    place = models.PositiveSmallIntegerField()

    class Meta:
        ordering = ("transfer_id", "place")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["transfer", "place"], name="transfer_line_once"),
            models.UniqueConstraint(fields=["payout", "transfer"], name="transfer_line_of_payout"),
        ]

    def __str__(self) -> str:
        return f"{self.payout_id} in {self.transfer_id}"


class PayoutApproval(models.Model):
    """One operator lets a held payout go. Two different ones are needed."""

    payout = models.ForeignKey(Payout, on_delete=models.PROTECT, related_name="approvals")
    operator = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    approved_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["payout", "operator"], name="payout_approved_once_by_each"),
        ]

    def __str__(self) -> str:
        return f"{self.operator_id} approves {self.payout_id}"
