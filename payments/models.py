"""Money in: payments, the deposits seen for them, what they changed for the merchant, and how far networks are read."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar, Self

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from config import ids
from config.environments import Environment
from config.fields import ExactJSONField, UnitsField
from merchants.counting import Counted
from merchants.models import Merchant, User
from payments.states import (
    BalanceChangeKind,
    DepositStatus,
    DiscrepancyKind,
    DiscrepancyStatus,
    PaymentStatus,
    StatusReason,
    UnsweptReason,
)
from payments.transfers.models import Transfer


class PaymentQuerySet(models.QuerySet["Payment"]):
    def of(self, merchant: Merchant, environment: str) -> Self:
        return self.filter(merchant=merchant, environment=environment)

    def with_window_ended(self, read_until: datetime) -> Self:
        """Those a judgement would end: nothing came in time, or too little came and the grace is over as well."""
        unpaid = Q(status=PaymentStatus.CREATED, expires_at__lt=read_until)
        short = Q(status=PaymentStatus.UNDERPAID, closed_at__isnull=True, closes_at__lt=read_until)
        return self.filter(unpaid | short)

    def due_for_assessment(self, now: datetime) -> Self:
        return self.filter(assess_at__lte=now).order_by("assess_at")


class Payment(models.Model):
    """What a merchant asked for, how it was quoted, and what has become of it."""

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    status = models.CharField(max_length=20, choices=PaymentStatus.choices, default=PaymentStatus.CREATED)
    version = models.PositiveIntegerField(default=1)

    # What was asked for.
    fiat_amount = models.BigIntegerField(help_text="In minor units of the currency.")
    currency = models.CharField(max_length=3)
    network = models.CharField(max_length=20)
    cryptocurrency = models.CharField(max_length=8)
    decimals = models.PositiveSmallIntegerField(help_text="Of the coin on this network.")
    merchant_wallet = models.CharField(max_length=80)
    redirect_url = models.CharField(max_length=2000, blank=True)
    webhook_url = models.CharField(max_length=2000, blank=True)
    expires_in = models.PositiveIntegerField(help_text="Seconds.")
    expires_at = models.DateTimeField()
    metadata = ExactJSONField(default=dict)

    # How it was quoted.
    due = UnitsField(help_text="Base units the payer is asked for.")
    rate = models.DecimalField(max_digits=38, decimal_places=18, help_text="Price of one coin in the currency.")
    rate_source = models.CharField(max_length=200)
    rate_quoted_at = models.DateTimeField()
    required_confirmations = models.PositiveSmallIntegerField()
    require_finalized = models.BooleanField(default=False)
    tolerance_bps = models.PositiveSmallIntegerField(default=0)
    closes_at = models.DateTimeField(help_text="The end of the window plus the grace a merchant grants late money.")

    # Where it is paid.
    sequence = models.BigIntegerField(unique=True, help_text="The number its deposit address derives from.")
    deposit_address = models.CharField(max_length=80)
    memo = models.CharField(max_length=30, blank=True)
    muxed_address = models.CharField(max_length=80, blank=True)
    payment_uri = models.CharField(max_length=500)
    qr_png = models.BinaryField()

    # What has become of it, in base units. `received` counts confirmed money in time only.
    received = UnitsField(default=0)
    released = UnitsField(default=0, help_text="Credited to the merchant.")
    surplus = UnitsField(default=0, help_text="Beyond what was due, moved to suspense on completion.")
    short = UnitsField(default=0, help_text="Too little when the window closed, moved to suspense then.")
    refunded = UnitsField(default=0, help_text="Of what was received: given back, or reserved for it.")
    returned = UnitsField(default=0, help_text="Of what was paid for it, the surplus left out: given back for good.")
    status_reasons = ArrayField(models.CharField(max_length=30), default=list, blank=True)
    completed_at = models.DateTimeField(null=True, blank=True)
    cancelled_at = models.DateTimeField(null=True, blank=True)
    accepted = models.BooleanField(default=False, help_text="Somebody took short or late money as enough.")
    deposit_count = models.PositiveIntegerField(default=0, help_text="Transfers ever seen for it.")
    closed_at = models.DateTimeField(
        null=True, blank=True, help_text="When its window ended for money: short money was moved to suspense then."
    )
    assess_at = models.DateTimeField(null=True, blank=True, help_text="Due for a judgement; empty: nothing to do.")
    booking_count = models.PositiveIntegerField(default=0, help_text="Numbers the ledger postings of this payment.")
    untold = ArrayField(
        models.CharField(max_length=40), default=list, blank=True, help_text="Events that wait for their time."
    )

    objects: ClassVar[models.Manager[Payment]] = PaymentQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(environment__in=Environment.values), name="payment_environment"),
            models.CheckConstraint(condition=Q(status__in=PaymentStatus.values), name="payment_status"),
            models.CheckConstraint(condition=Q(fiat_amount__gt=0, due__gt=0), name="payment_amounts_positive"),
            models.CheckConstraint(
                condition=Q(
                    received__gte=0, released__gte=0, surplus__gte=0, short__gte=0, refunded__gte=0, returned__gte=0
                ),
                name="payment_sums_not_negative",
            ),
            # What was given back before a reorganisation undid the deposit is gone: the merchant owes it.
            models.CheckConstraint(
                condition=Q(refunded__lte=F("received")) | Q(status_reasons__contains=[StatusReason.REVERSED]),
                name="payment_refunded_at_most_received",
            ),
            models.CheckConstraint(condition=Q(returned__lte=F("refunded")), name="payment_returned_was_reserved"),
            models.UniqueConstraint(fields=["deposit_address", "memo"], name="payment_address_once"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["merchant", "environment", "id"], name="payment_list"),
            models.Index(fields=["merchant", "environment", "status", "id"], name="payment_list_by_status"),
            models.Index(
                fields=["network", "status", "expires_at"],
                name="payment_window_open",
                condition=Q(status__in=[PaymentStatus.CREATED, PaymentStatus.UNDERPAID], closed_at__isnull=True),
            ),
            models.Index(fields=["assess_at"], name="payment_assess_due", condition=Q(assess_at__isnull=False)),
            models.Index(fields=["environment", "network", "closes_at"], name="payment_watched"),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def public_id(self) -> str:
        return ids.PAYMENT.encode(self.id)

    @property
    def created_at(self) -> datetime:
        return ids.created_at_of(self.id)

    @property
    def page_url(self) -> str:
        return page_url(self.public_id)


def page_url(public_id: str) -> str:
    """The hosted page of a payment."""
    return f"{settings.PUBLIC_URL}/pay/{public_id}"


PAYMENTS = Counted("payment", Payment)
"""How `totalCount` counts them."""


class Sweep(models.Model):
    """One on-chain transaction that brings a coin from deposit addresses to the hot wallet."""

    transfer = models.OneToOneField(Transfer, on_delete=models.PROTECT, related_name="sweep")
    asset = models.CharField(max_length=8, help_text="Code of the coin.")
    expected = UnitsField(help_text="What the deposits in it amount to.")
    moved = UnitsField(null=True, help_text="What arrived at the hot wallet, by the chain; empty until it is booked.")
    booked_at = models.DateTimeField(null=True, help_text="When it came into the books, or came to nothing.")
    is_itemised = models.BooleanField(
        default=False, help_text="What it did at each address is written down, as its receipt shows."
    )
    last_error = models.TextField(blank=True, help_text="Why it could not be booked when that was last tried.")

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(expected__gt=0), name="sweep_expected_positive"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["id"], name="sweep_not_booked", condition=Q(booked_at__isnull=True)),
            models.Index(
                fields=["id"], name="sweep_not_itemised", condition=Q(booked_at__isnull=False, is_itemised=False)
            ),
        ]

    def __str__(self) -> str:
        return f"sweep of {self.expected} {self.asset}"


class SweptAddress(models.Model):
    """What one sweep did at the deposit address of one payment, by its receipt.

    One that moved nothing there has passed the address over: its deposits are free for another sweep, and are tried
    again at `try_again_at`, which is empty once that is over.
    """

    sweep = models.ForeignKey(Sweep, on_delete=models.PROTECT, related_name="addresses")
    payment = models.ForeignKey("Payment", on_delete=models.PROTECT, related_name="+")
    expected = UnitsField(help_text="What the deposits amount to that it was signed for.")
    left = UnitsField(help_text="What left the address.")
    arrived = UnitsField(help_text="What the hot wallet got of it.")
    was_refused = models.BooleanField(default=False, help_text="The factory says so by a SweepFailed event.")
    reason = models.CharField(max_length=20, choices=UnsweptReason.choices, blank=True)
    said = models.CharField(max_length=200, blank=True, help_text="What the coin's contract says.")
    tries = models.PositiveIntegerField(default=0, help_text="In a row that moved nothing; without sending, too.")
    try_again_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["sweep", "payment"], name="swept_address_once"),
            models.CheckConstraint(condition=Q(left__gte=0, arrived__lte=F("left")), name="swept_address_amounts"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["payment"], name="swept_address_passed_over", condition=Q(try_again_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.sweep.asset} at {self.payment.deposit_address}"

    @property
    def amount(self) -> int:
        """What waits there, by the query that asked for it (`waiting`); else what the sweep was signed for."""
        return int(vars(self).get("waiting", self.expected))


class SweepRequest(models.Model):
    """An operator wants a coin swept before as much of it waits as usual."""

    environment = models.CharField(max_length=10, choices=Environment.choices)
    network = models.CharField(max_length=20)
    asset = models.CharField(max_length=8, help_text="Code of the coin.")
    requested_by = models.CharField(max_length=120)
    requested_at = models.DateTimeField(default=timezone.now)
    done_at = models.DateTimeField(null=True, help_text="When it was signed, or nothing worth it was left.")
    sweep = models.ForeignKey(Sweep, null=True, on_delete=models.PROTECT, related_name="requests")
    outcome = models.TextField(blank=True, help_text="What was taken, and what was not and why.")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["environment", "network", "asset"],
                name="sweep_requested_once",
                condition=Q(done_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.asset} on {self.network} ({self.environment})"


class Deposit(models.Model):
    """An incoming transfer seen on a chain, whoever it was meant for. Never deleted."""

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    environment = models.CharField(max_length=10, choices=Environment.choices)
    network = models.CharField(max_length=20, help_text="Where it was seen, which may not be where it was expected.")
    transaction_hash = models.CharField(max_length=80)
    ordinal = models.PositiveIntegerField(help_text="Its place inside the on-chain transaction.")
    payment = models.ForeignKey(Payment, null=True, on_delete=models.PROTECT, related_name="deposits")
    contract = models.CharField(max_length=80)
    asset = models.CharField(max_length=8, help_text="Code of the registered coin.")
    decimals = models.PositiveSmallIntegerField(help_text="Of the coin on this network.")
    amount = UnitsField()
    token_fee = UnitsField(default=0, help_text="What the token kept of what was sent, beside the amount.")
    sender = models.CharField(max_length=80)
    recipient = models.CharField(max_length=80)
    memo = models.CharField(max_length=30, blank=True)
    status = models.CharField(max_length=12, choices=DepositStatus.choices, default=DepositStatus.SEEN)
    height = models.BigIntegerField()
    block_hash = models.CharField(max_length=80)
    block_time = models.DateTimeField()
    first_block_time = models.DateTimeField(
        help_text="The earliest block it stood in; being mined again later does not make it late."
    )
    seen_at = models.DateTimeField(default=timezone.now)
    credited_at = models.DateTimeField(null=True, blank=True)
    booked_to = models.CharField(
        max_length=30, blank=True, help_text="The ledger account kind that holds it; empty: not booked."
    )
    booking_count = models.PositiveIntegerField(default=0)
    is_surplus = models.BooleanField(
        default=False,
        help_text="Nobody saw it arrive: a sweep took so much more from the address than was known. The on-chain "
        "transaction is the sweep's.",
    )
    missing = UnitsField(default=0, help_text="Of it, what the network does not hold any more at its address.")
    sweep = models.ForeignKey(
        Sweep, null=True, on_delete=models.PROTECT, related_name="deposits", help_text="What took it to the hot wallet."
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["environment", "network", "transaction_hash", "ordinal"], name="deposit_once"
            ),
            models.CheckConstraint(condition=Q(amount__gt=0), name="deposit_amount_positive"),
            models.CheckConstraint(condition=Q(missing__gte=0, missing__lte=F("amount")), name="deposit_missing_of_it"),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["environment", "network", "height"],
                name="deposit_unsettled",
                condition=Q(status=DepositStatus.SEEN),
            ),
            models.Index(fields=["environment", "network", "height"], name="deposit_by_height"),
            models.Index(
                fields=["environment", "network", "asset"],
                name="deposit_not_swept",
                condition=Q(status=DepositStatus.CREDITED, sweep__isnull=True),
            ),
            models.Index(fields=["recipient", "height"], name="deposit_by_recipient"),
            models.Index(fields=["payment", "id"], name="deposit_of_payment"),
        ]

    def __str__(self) -> str:
        return f"{self.network}:{self.transaction_hash}:{self.ordinal}"

    @property
    def is_swept(self) -> bool:
        """Its coins are in the hot wallet, by the books."""
        return self.sweep is not None and bool(self.sweep.moved)


class NativeCoin(models.Model):
    """The network's own coin that somebody sent to a payment's deposit address. No event tells of it: this is what was
    there when it was last looked for. It is no money of the payment; an operator decides whether it is brought in."""

    payment = models.ForeignKey(Payment, on_delete=models.PROTECT, related_name="native_coins")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    network = models.CharField(max_length=20, help_text="Where it is, which may not be where the payment was expected.")
    held = UnitsField(help_text="Base units at the deposit address when it was last looked for.")
    height = models.BigIntegerField(help_text="The newest block then.")
    found_at = models.DateTimeField(default=timezone.now)
    asked_at = models.DateTimeField(null=True, help_text="When an operator asked for it to be brought in.")
    asked_by = models.CharField(max_length=120, blank=True)
    sweep = models.ForeignKey(Sweep, null=True, on_delete=models.PROTECT, related_name="native_coins")
    brought = UnitsField(default=0, help_text="Base units that came to the hot wallet, in all sweeps of it.")
    note = models.TextField(blank=True, help_text="What became of it: agreed with the payer, given back, and how.")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["payment", "network"], name="native_coin_once"),
            models.CheckConstraint(condition=Q(held__gte=0, brought__gte=0), name="native_coin_not_negative"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["environment", "network"], name="native_coin_held", condition=Q(held__gt=0)),
        ]

    def __str__(self) -> str:
        return f"{self.network}'s own coin at {ids.PAYMENT.encode(self.payment_id)}"


class Discrepancy(models.Model):
    """Money in suspense that waits for a person, or for the merchant's policy, to accept it or give it back."""

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    merchant = models.ForeignKey(Merchant, null=True, on_delete=models.PROTECT, related_name="+")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    kind = models.CharField(max_length=20, choices=DiscrepancyKind.choices)
    status = models.CharField(max_length=12, choices=DiscrepancyStatus.choices, default=DiscrepancyStatus.OPEN)
    payment = models.ForeignKey(Payment, null=True, on_delete=models.PROTECT, related_name="discrepancies")
    deposit = models.ForeignKey(Deposit, null=True, on_delete=models.PROTECT, related_name="discrepancies")
    network = models.CharField(max_length=20)
    asset = models.CharField(max_length=8)
    decimals = models.PositiveSmallIntegerField(help_text="Of the coin on this network.")
    amount = UnitsField()
    resolved_at = models.DateTimeField(null=True, blank=True)
    resolved_by = models.CharField(max_length=120, blank=True, help_text="The person or policy that decided.")
    note = models.TextField(blank=True)

    class Meta:
        verbose_name_plural = "discrepancies"
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(amount__gt=0), name="discrepancy_amount_positive"),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["merchant", "environment", "id"],
                name="discrepancy_open",
                condition=Q(status=DiscrepancyStatus.OPEN),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.public_id}"

    @property
    def public_id(self) -> str:
        return ids.DISCREPANCY.encode(self.id)

    @property
    def created_at(self) -> datetime:
        return ids.created_at_of(self.id)


class DiscrepancyApproval(models.Model):
    """One operator would let the merchant have the money. Above the policy's limit two different ones are needed."""

    discrepancy = models.ForeignKey(Discrepancy, on_delete=models.PROTECT, related_name="approvals")
    operator = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    reason = models.TextField()
    approved_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["discrepancy", "operator"], name="discrepancy_approved_once_by_each"),
        ]

    def __str__(self) -> str:
        return f"{self.operator_id} approves {self.discrepancy_id}"


class ReadingRequest(models.Model):
    """An on-chain transaction that the watcher is asked to look at once more; gone as soon as it has.

    Somebody showed that it holds money of ours which no scan will come upon any more.
    """

    environment = models.CharField(max_length=10, choices=Environment.choices)
    network = models.CharField(max_length=20)
    transaction_hash = models.CharField(max_length=80)
    asked_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["environment", "network", "transaction_hash"], name="reading_asked_once"),
        ]

    def __str__(self) -> str:
        return f"{self.network}:{self.transaction_hash}"


class BalanceChange(models.Model):
    """One change of what a merchant may have settled, for one wallet. Settlements are made of these, each used once.

    `amount` is signed: what a merchant gained, or lost. For each merchant and coin, those in no settlement sum to the
    merchant's ledger accounts: available less receivable.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    kind = models.CharField(max_length=20, choices=BalanceChangeKind.choices)
    reference = models.CharField(max_length=40, help_text="Public id of what it was for: a payment, a refund, …")
    payment = models.ForeignKey(Payment, null=True, on_delete=models.PROTECT, related_name="balance_changes")
    network = models.CharField(max_length=20)
    asset = models.CharField(max_length=8)
    decimals = models.PositiveSmallIntegerField(help_text="Of the coin on this network.")
    wallet = models.CharField(max_length=80, help_text="Where it is settled to.")
    amount = UnitsField(help_text="Base units; positive is the merchant's gain.")
    posting_kind = models.CharField(max_length=40)
    posting_reference = models.CharField(max_length=200)
    settlement = models.UUIDField(null=True, help_text="The settlement that it is part of.")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["environment", "posting_kind", "posting_reference", "network", "asset"],
                name="balance_change_once_per_posting",
            ),
            models.CheckConstraint(condition=~Q(amount=0), name="balance_change_not_zero"),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["merchant", "environment", "network", "wallet"],
                name="balance_change_unsettled",
                condition=Q(settlement__isnull=True),
            ),
            models.Index(
                fields=["settlement", "id"],
                name="balance_change_of_settlement",
                condition=Q(settlement__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.reference}: {self.amount:+}"

    @property
    def created_at(self) -> datetime:
        return ids.created_at_of(self.id)


class ScanCursor(models.Model):
    """How far one network of one environment has been read, and whether it may be trusted just now."""

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
    polled_at = models.DateTimeField(null=True, help_text="When the network last answered.")
    failing_since = models.DateTimeField(null=True)
    last_error = models.TextField(blank=True)
    halted_at = models.DateTimeField(null=True, help_text="Crediting and paying stopped; a person must look.")
    fault = models.TextField(blank=True, help_text="What is wrong with its set-up: until it is right, nothing is done.")
    native_round_at = models.DateTimeField(null=True, help_text="When the network's own coin was last looked for.")
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
        """How long the head had not risen when the network last answered: while it is silent, nothing is known."""
        return self._until_polled(self.head_since)

    @property
    def finality_standstill(self) -> timedelta:
        """How long no further block had become final when the network last answered."""
        return self._until_polled(self.finalized_since)

    def _until_polled(self, since: datetime | None) -> timedelta:
        return self.polled_at - since if self.polled_at and since else timedelta(0)
