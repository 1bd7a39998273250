"""Scan cursors, rescans of on-chain transactions, address derivations, and returns to senders."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from config import ids
from config.environments import Environment
from config.fields import UnitsField
from config.pages.wording import coins
from payments.models import Deposit
from payments.states import ReturnStatus
from payments.transfers.models import Payout
from payments.transfers.states import MemoType


class ReadingRequest(models.Model):
    """A rescan of an on-chain transaction, or of a range of blocks, by the watcher; the row is deleted once it is done.

    A claim or an audit found money of ours in a transaction that no later scan reads, or a scan could not read it and
    went on. An operator requests a range, one at a time on each network.
    """

    environment = models.CharField(max_length=10, choices=Environment.choices)
    network = models.CharField(max_length=20)
    transaction_hash = models.CharField(max_length=80, blank=True, help_text="Empty: a range of blocks.")
    first_height = models.PositiveBigIntegerField(
        null=True, blank=True, help_text="The first block of a range that is not read yet."
    )
    last_height = models.PositiveBigIntegerField(null=True, blank=True, help_text="The last block of a range.")
    asked_at = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(
        default=timezone.now, db_default=Now(), help_text="When it is read next; later each time it cannot be."
    )
    problem = models.TextField(blank=True, db_default="", help_text="Why it cannot be read. Empty: nobody has tried.")
    content = models.TextField(blank=True, db_default="", help_text="What providers said that could not be read.")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["environment", "network", "transaction_hash"], name="reading_asked_once"),
            models.CheckConstraint(
                condition=Q(transaction_hash="", first_height__lte=F("last_height"))
                | (~Q(transaction_hash="") & Q(first_height__isnull=True, last_height__isnull=True)),
                name="reading_of_one_or_of_a_range",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.network}:{self.transaction_hash or f'{self.first_height:,} to {self.last_height:,}'}"

    @staticmethod
    def store(environment: str, readings: Iterable[tuple[str, str]]) -> None:
        """Request rescans of on-chain transactions, each by its network and hash; one that is requested already stays
        as it is."""
        rows = [ReadingRequest(environment=environment, network=at, transaction_hash=named) for at, named in readings]
        ReadingRequest.objects.bulk_create(rows, ignore_conflicts=True)


class AddressDerivation(models.Model):
    """The derivation of deposit addresses of an environment, from one number on up to the next row's.

    Settings that would give a number another address are refused: what was paid to the first one could not be swept.
    """

    environment = models.CharField(max_length=10, choices=Environment.choices)
    first_number = models.BigIntegerField()
    name = models.CharField(max_length=80, help_text="The factory, and whether and with which key.")
    noted_at = models.DateTimeField(default=timezone.now)
    noted_by = models.CharField(max_length=120, blank=True, help_text="Empty: a worker, when there was none before.")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["environment", "first_number"], name="derivation_once_per_number"),
        ]

    def __str__(self) -> str:
        return f"{self.name} from number {self.first_number} on"


class ScanCursor(models.Model):
    """The scan cursor of one network of one environment, and whether it may be trusted just now."""

    environment = models.CharField(max_length=10, choices=Environment.choices)
    network = models.CharField(max_length=20)
    cursor = models.JSONField(null=True)
    version = models.PositiveBigIntegerField(default=0, help_text="Grows with every scan that was recorded.")
    leased_until = models.DateTimeField(default=timezone.now, help_text="Another watcher keeps off until then.")
    head_height = models.BigIntegerField(default=0)
    finalized_height = models.BigIntegerField(default=0)
    head_since = models.DateTimeField(null=True, help_text="When the head last rose, by our clock.")
    finalized_since = models.DateTimeField(null=True, help_text="When the newest final block last rose, by our clock.")
    read_until = models.DateTimeField(null=True, help_text="Block time up to which every deposit has been seen.")
    clock_ahead_seconds = models.FloatField(
        null=True, help_text="How much older than the database's clock the newest block was when it was first seen."
    )
    polled_at = models.DateTimeField(null=True, help_text="When the network last answered.")
    failing_since = models.DateTimeField(null=True)
    last_error = models.TextField(blank=True)
    fault = models.TextField(blank=True, help_text="What is wrong with its set-up: until it is right, nothing is done.")
    native_round_at = models.DateTimeField(null=True, help_text="When native coins were last looked for.")
    native_read_to = models.UUIDField(null=True, help_text="The payment that round has come to; empty once it is over.")
    holdings_read_to = models.CharField(
        max_length=80, blank=True, help_text="The deposit address that quick runs of reconcile have come to."
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["environment", "network"], name="cursor_once_per_network"),
        ]

    def __str__(self) -> str:
        return f"{self.network} ({self.environment})"

    @property
    def head_standstill(self) -> timedelta:
        """Time the head had not risen when the network last answered: while it is silent, nothing is known."""
        return self._until_polled(self.head_since)

    @property
    def finality_standstill(self) -> timedelta:
        """Time no further block had become final when the network last answered."""
        return self._until_polled(self.finalized_since)

    def _until_polled(self, since: datetime | None) -> timedelta:
        return self.polled_at - since if self.polled_at and since else timedelta(0)


class RefusedWallet(models.Model):
    """The reason a network would not have paid a coin to a merchant's wallet at the last query.

    Pages and the preview of settlements show it; nothing is decided by it. The row goes when the wallet can be paid.
    """

    environment = models.CharField(max_length=10, choices=Environment.choices)
    network = models.CharField(max_length=20)
    wallet = models.CharField(max_length=80)
    asset = models.CharField(max_length=8, help_text="Code of the coin.")
    problem = models.CharField(max_length=40)
    asked_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["environment", "network", "wallet", "asset"], name="refused_wallet_once_per_coin"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.network} {self.wallet}: {self.problem}"


class PayerReturn(ids.KeyedByTime, ids.PublicRecord, models.Model):
    """A return of money of no payment to its sender, requested by a message that the key of the sending address has
    signed.

    It is reserved once as many operators have agreed as must, and leaves as a payout without a merchant.
    """

    public_ids: ClassVar = ids.PAYER_RETURN

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    environment = models.CharField(max_length=10, choices=Environment.choices)
    deposit = models.ForeignKey(Deposit, on_delete=models.PROTECT, related_name="returns")
    network = models.CharField(max_length=20)
    asset = models.CharField(max_length=8, help_text="Code of the coin.")
    decimals = models.PositiveSmallIntegerField(help_text="Of the coin on this network.")
    amount = UnitsField()
    recipient = models.CharField(max_length=80)
    memo = models.CharField(max_length=30, blank=True)
    memo_type = models.CharField(max_length=4, choices=MemoType.choices, blank=True)
    signed_text = models.TextField(help_text="What the sender's key has signed; it names the recipient.")
    signature = models.CharField(max_length=200, blank=True, help_text="Empty on a simulated network, without keys.")
    status = models.CharField(max_length=10, choices=ReturnStatus.choices, default=ReturnStatus.PROVEN)
    payout = models.OneToOneField(Payout, null=True, on_delete=models.PROTECT, related_name="payer_return")
    transaction_hash = models.CharField(max_length=80, blank=True)
    failure_message = models.CharField(max_length=300, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(amount__gt=0), name="payer_return_amount_positive"),
            models.UniqueConstraint(
                fields=["deposit"],
                condition=Q(status__in=[ReturnStatus.PROVEN, ReturnStatus.PENDING, ReturnStatus.COMPLETED]),
                name="payer_return_once",
            ),
            models.CheckConstraint(
                condition=Q(status__in=[ReturnStatus.PROVEN, ReturnStatus.REPLACED], payout__isnull=True)
                | (~Q(status__in=[ReturnStatus.PROVEN, ReturnStatus.REPLACED]) & Q(payout__isnull=False)),
                name="payer_return_paid_by_a_payout",
            ),
        ]

    def __str__(self) -> str:
        return (
            f"{self.public_id}: {coins(self.amount, self.decimals, self.asset)} on {self.network} to {self.recipient}"
        )
