"""The rows a simulated network consists of. Empty blocks have none: a stretch describes them all."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar, get_args

from django.db import models
from django.db.models import Q

from config.fields import UnitsField
from payments.chains.errors import RecipientProblem


class SimulatedNetwork(models.Model):
    """One network: how far it has come, and what is wrong with it just now. Its row is the network's lock."""

    network = models.CharField(max_length=20, primary_key=True)
    height = models.BigIntegerField(default=0)
    generation = models.PositiveIntegerField(default=0, help_text="How many times it was reorganised.")
    outage_until = models.DateTimeField(null=True, blank=True, help_text="Nobody answers until then.")
    fee_level = models.PositiveIntegerField(
        default=1, help_text="How many times the usual price a block asks for. Nobody who offers less gets into one."
    )
    broadcasts_to_lose = models.PositiveIntegerField(default=0)
    broadcasts_to_time_out = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return self.network


class Stretch(models.Model):
    """The blocks from `first_height` until the next stretch: their timetable, and what their hashes are made of.

    A block hash follows from network, height and generation, so a reorg gives the stretches it reaches another
    generation and leaves their times alone.
    """

    network = models.ForeignKey(SimulatedNetwork, on_delete=models.CASCADE, related_name="stretches")
    first_height = models.BigIntegerField()
    started_at = models.DateTimeField(help_text="When its first block was closed.")
    block_seconds = models.FloatField(help_text="0: all its blocks were closed at once, and the clock adds none.")
    generation = models.PositiveIntegerField()

    class Meta:
        verbose_name_plural = "stretches"
        ordering = ("first_height",)
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["network", "first_height"], name="stretch_once_per_height"),
        ]

    def __str__(self) -> str:
        return f"{self.network_id} from {self.first_height}"

    def closed_at(self, height: int) -> datetime:
        return self.started_at + (height - self.first_height) * timedelta(seconds=self.block_seconds)

    def height_at(self, now: datetime) -> int:
        """The newest block closed by then, were this stretch to go on for ever."""
        if not self.block_seconds:
            return self.first_height
        return self.first_height + max(0, (now - self.started_at) // timedelta(seconds=self.block_seconds))


class SimulatedAccount(models.Model):
    """What is special about an address; an address without a row is an ordinary account that takes everything."""

    network = models.CharField(max_length=20)
    address = models.CharField(max_length=80)
    is_contract = models.BooleanField(default=False)
    refuses = models.CharField(max_length=20, choices=[(code, code) for code in get_args(RecipientProblem)], blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["network", "address"], name="simulated_account_once"),
        ]

    def __str__(self) -> str:
        return self.address


class SimulatedStatus(models.TextChoices):
    PENDING = "pending", "Waiting for a block"
    INCLUDED = "included", "In a block"
    FAILED = "failed", "In a block, moved nothing"
    DROPPED = "dropped", "Forgotten by the network"


_IN_A_BLOCK = [SimulatedStatus.INCLUDED, SimulatedStatus.FAILED]


def versions_of(root: str) -> Q:
    """On-chain transactions that are one with that of this hash."""
    return Q(transaction_hash=root) | (Q(inner_hash=root) & ~Q(inner_hash=""))


class SimulatedTransaction(models.Model):
    """An on-chain transaction: one sender, its transfers, in a block or waiting for one.

    What it costs is `work` times the price of the block it is in. Payers and makers of money offer no price: for
    them the network is free, so that a payer is never broke.
    """

    network = models.CharField(max_length=20)
    transaction_hash = models.CharField(max_length=80)
    sender = models.CharField(max_length=80)
    sequence = models.BigIntegerField(null=True, help_text="Empty for money that is made, not moved.")
    status = models.CharField(max_length=10, choices=SimulatedStatus.choices, default=SimulatedStatus.PENDING)
    height = models.BigIntegerField(null=True)
    valid_until = models.DateTimeField(null=True)
    error = models.CharField(max_length=100, blank=True)
    refused = models.JSONField(default=dict, help_text="Its transfers that made it fail: the problem by ordinal.")
    inner_hash = models.CharField(
        max_length=80, blank=True, help_text="Of what it raises the fee for: both are one on-chain transaction."
    )
    fee_payer = models.CharField(max_length=80, blank=True, help_text="Who pays for it; empty: the sender.")
    fee_offer = UnitsField(null=True, help_text="The highest price it pays, in the native coin; empty: it is free.")
    work = models.PositiveIntegerField(default=0, help_text="What it takes to carry out: gas, or operations.")
    fee_units = UnitsField(default=0, help_text="What it did cost, once it is in a block.")
    swept_contract = models.CharField(max_length=80, blank=True, help_text="The token that a sweep collects.")
    swept_addresses = models.JSONField(default=list, help_text="Whom it empties: its transfers are made in the block.")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["network", "transaction_hash"], name="simulated_transaction_once"),
            models.UniqueConstraint(
                fields=["network", "sender", "sequence"],
                condition=~Q(status=SimulatedStatus.DROPPED),
                name="simulated_sequence_once",
            ),
            models.CheckConstraint(
                condition=Q(status__in=_IN_A_BLOCK, height__isnull=False)
                | (~Q(status__in=_IN_A_BLOCK) & Q(height__isnull=True)),
                name="simulated_transaction_height",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["network", "height"], name="simulated_by_height"),
            models.Index(fields=["network", "sender"], name="simulated_by_sender"),
            models.Index(fields=["network", "inner_hash"], name="simulated_by_inner", condition=~Q(inner_hash="")),
            models.Index(fields=["fee_payer"], name="simulated_by_fee_payer", condition=~Q(fee_payer="")),
            models.Index(
                fields=["network", "id"], name="simulated_pending", condition=Q(status=SimulatedStatus.PENDING)
            ),
        ]

    def __str__(self) -> str:
        return self.transaction_hash

    @property
    def root(self) -> str:
        """The hash that all versions of it have in common."""
        return self.inner_hash or self.transaction_hash

    @property
    def block_height(self) -> int:
        """The height of a transaction that is in a block."""
        if self.height is None:
            raise ValueError(f"{self} is in no block")
        return self.height


class SimulatedTransfer(models.Model):
    """One movement of a token, or of the native coin, inside an on-chain transaction."""

    transaction = models.ForeignKey(SimulatedTransaction, on_delete=models.CASCADE, related_name="transfers")
    ordinal = models.PositiveIntegerField()
    contract = models.CharField(max_length=80, blank=True, help_text="Empty for the native coin.")
    amount = UnitsField()
    source = models.CharField(max_length=80, help_text="Who pays: the sender, or an address that is swept.")
    source_muxed = models.CharField(max_length=80, blank=True, help_text="The sender's muxed address, if it has one.")
    recipient = models.CharField(max_length=80)
    memo = models.CharField(max_length=30, blank=True, help_text="The muxed id or else the memo, normalised.")
    muxed_id = models.CharField(max_length=20, blank=True, help_text="Of the address it was sent to.")
    transaction_memo = models.CharField(max_length=30, blank=True, help_text="As the sender gave it, normalised.")

    class Meta:
        ordering = ("transaction_id", "ordinal")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["transaction", "ordinal"], name="simulated_transfer_once"),
            models.CheckConstraint(condition=Q(amount__gte=0), name="simulated_transfer_not_negative"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["recipient", "contract"], name="simulated_by_recipient"),
            models.Index(fields=["source", "contract"], name="simulated_by_source"),
        ]

    def __str__(self) -> str:
        return f"{self.transaction}:{self.ordinal}"


class ScheduledAction(models.Model):
    """Something that happens to a network by itself once its head has reached a height."""

    network = models.ForeignKey(SimulatedNetwork, on_delete=models.CASCADE, related_name="actions")
    height = models.BigIntegerField()
    action = models.CharField(max_length=20)
    arguments = models.JSONField(default=dict)

    class Meta:
        ordering = ("height", "id")

    def __str__(self) -> str:
        return f"{self.action} on {self.network_id} at {self.height}"
