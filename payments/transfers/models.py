"""Money out: what is to be paid, the wallets it leaves from, and every on-chain transaction signed for it.

A payout is the intent: its money is reserved in the ledger account `payout` of its id before it exists. A transfer is
one sequence number of a wallet or of a channel, an account that lends it sequences; an envelope is one signed version
of a transfer. Envelopes are stored before they are sent and never deleted, because any of them may be the one that is
mined.
"""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone

from config import ids
from config.environments import Environment
from config.fields import UnitsField
from config.pages import wording
from merchants.four_eyes.models import Proposal, ProposalKind
from merchants.four_eyes.services import who_agreed
from merchants.models import Merchant
from payments.chains.protocol.providers import LONGEST_PROVIDER_NAME
from payments.transfers.states import (
    OPEN_TRANSFERS,
    HoldReason,
    MemoType,
    PayoutStatus,
    TransferPurpose,
    TransferStatus,
)


class PayoutPolicy(models.Model):
    """The limits of payouts without approval. One row per environment; whole US dollars."""

    environment = models.CharField(max_length=10, choices=Environment.choices, unique=True)
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
    """The hot wallet of a network, and the next sequence that has never been signed for."""

    environment = models.CharField(max_length=10, choices=Environment.choices)
    network = models.CharField(max_length=20)
    address = models.CharField(max_length=80)
    next_sequence = models.BigIntegerField(default=0, help_text="Above every sequence ever signed for.")
    checked_at = models.DateTimeField(null=True, help_text="When its network was last asked about it.")
    last_error = models.TextField(blank=True)
    not_signed_at = models.DateTimeField(null=True, help_text="When the signer of its own last did not sign for it.")
    not_signed_reason = models.TextField(default="", db_default="", blank=True)
    is_refused = models.BooleanField(
        db_default=False, default=False, help_text="The signer refused then; else it did not answer."
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["environment", "network", "address"], name="wallet_once"),
            models.CheckConstraint(condition=Q(next_sequence__gte=0), name="wallet_sequence_not_negative"),
        ]

    def __str__(self) -> str:
        return f"{self.network} {self.address} ({self.environment})"

    def channel_at(self, account: str) -> str:
        """The name in transfers of an account by whose nonce they are signed: empty for the wallet itself."""
        return "" if account == self.address else account

    def account_of(self, channel: str) -> str:
        return channel or self.address


class Channel(models.Model):
    """Another account that lends a wallet its sequences, so that more transfers can be on their way at once."""

    wallet = models.ForeignKey(Wallet, on_delete=models.PROTECT, related_name="channels")
    address = models.CharField(max_length=80)
    next_sequence = models.BigIntegerField(default=0, help_text="Above every sequence ever signed for.")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["wallet", "address"], name="channel_once"),
            models.CheckConstraint(condition=Q(next_sequence__gte=0), name="channel_sequence_not_negative"),
        ]

    def __str__(self) -> str:
        return self.address


class Transfer(ids.KeyedByTime, models.Model):
    """One sequence of a wallet or of its channel, and what has become of it."""

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    wallet = models.ForeignKey(Wallet, on_delete=models.PROTECT, related_name="transfers")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    network = models.CharField(max_length=20)
    purpose = models.CharField(max_length=10, choices=TransferPurpose.choices, default=TransferPurpose.PAYOUT)
    asset = models.CharField(max_length=8, blank=True, help_text="Code of the coin that a sweep moves.")
    deposits = ArrayField(
        models.BigIntegerField(), default=list, blank=True, help_text="Numbers of the addresses that a sweep empties."
    )
    channel = models.CharField(
        default="",
        db_default="",
        max_length=80,
        blank=True,
        help_text="The account whose sequence it uses; empty: the wallet's own.",
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
    fee_units = UnitsField(default=0, help_text="Paid, in base units of the native coin.")
    last_error = models.TextField(blank=True, help_text="What the network said last; a hint, no verdict.")
    finished_at = models.DateTimeField(null=True)
    said_by = ArrayField(
        models.CharField(max_length=LONGEST_PROVIDER_NAME),
        null=True,
        help_text="The providers that were believed about how it ended. Empty: nobody is asked; null: not recorded.",
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["wallet", "channel", "sequence"],
                name="transfer_once_per_channel",
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


class Payout(ids.KeyedByTime, models.Model):
    """The intent to pay somebody. Its money is in the ledger account `payout` of its id until it has ended."""

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    environment = models.CharField(max_length=10, choices=Environment.choices)
    merchant = models.ForeignKey(
        Merchant,
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Empty: the house's own money.",
    )
    reference = models.CharField(
        max_length=40, help_text="Public id of what it is for: a refund, settlement or withdrawal."
    )
    network = models.CharField(max_length=20)
    asset = models.CharField(max_length=8, help_text="Code of the coin.")
    decimals = models.PositiveSmallIntegerField(help_text="Of the coin on this network.")
    amount = UnitsField()
    arrived = UnitsField(
        null=True, help_text="What the recipient got, by the receipt; empty until it is paid, and for older payouts."
    )
    recipient = models.CharField(max_length=80)
    memo = models.CharField(max_length=30, blank=True)
    memo_type = models.CharField(
        default="",
        db_default="",
        max_length=4,
        choices=MemoType.choices,
        blank=True,
        help_text="Empty: digits are a number.",
    )
    intent_mac = models.CharField(
        default="",
        db_default="",
        max_length=64,
        blank=True,
        help_text="By which a signer of its own knows that this payout was asked for as it is; empty without one.",
    )
    status = models.CharField(max_length=10, choices=PayoutStatus.choices, default=PayoutStatus.READY)
    hold_reason = models.CharField(max_length=30, choices=HoldReason.choices, blank=True)
    held_since = models.DateTimeField(null=True, help_text="Since when it has been held for this reason.")
    set_aside_at = models.DateTimeField(
        null=True,
        help_text="From then on it becomes a claimable balance, if its recipient's account still cannot take the coin.",
    )
    next_attempt_at = models.DateTimeField(
        null=True, default=timezone.now, help_text="When to look at it again; empty while it is sent, or over."
    )
    attempt_count = models.PositiveIntegerField(default=0, help_text="Transfers signed for it.")
    is_alone = models.BooleanField(default=False, help_text="It shares no on-chain transaction: one it was in failed.")
    transfer = models.ForeignKey(Transfer, null=True, on_delete=models.PROTECT, related_name="payouts")
    failure_code = models.CharField(max_length=40, blank=True)
    failure_message = models.CharField(max_length=300, blank=True)
    finished_at = models.DateTimeField(null=True)
    evidence = models.TextField(
        default="",
        db_default="",
        blank=True,
        help_text="What a sanctions list says of the recipient, as it was when this was first compared with it.",
    )

    has_lists = False
    """Whether there is a list to compare it with, where it was read by `with_lists`."""

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
            models.Index(fields=["environment", "network"], name="payout_with_evidence", condition=~Q(evidence="")),
        ]

    def __str__(self) -> str:
        return f"{self.reference}: {wording.coins(self.amount, self.decimals, self.asset)} on {self.network}"

    @property
    def terms(self) -> dict[str, str]:
        """The terms people agree to."""
        return {"amount": str(int(self.amount)), "recipient": self.recipient, "memo": self.memo}

    @property
    def counterparty(self) -> str:
        """The address that lists are compared with."""
        return self.recipient

    @property
    def token_fee(self) -> int:
        """The part that the token kept."""
        return 0 if self.arrived is None else int(self.amount) - int(self.arrived)

    @property
    def claimable_balance(self) -> str:
        """The id of what its transfer set aside for the recipient; empty when it was paid. Reads a row."""
        line = TransferLine.objects.filter(transfer=self.transfer_id, payout=self.pk).first()
        return line.claimable_balance if line else ""


class TransferLine(models.Model):
    """A payout was part of a transfer, at this position; kept when the transfer came to nothing."""

    transfer = models.ForeignKey(Transfer, on_delete=models.PROTECT, related_name="lines")
    payout = models.ForeignKey(Payout, on_delete=models.PROTECT, related_name="lines")
    place = models.PositiveSmallIntegerField()
    claimable_balance = models.CharField(
        default="",
        db_default="",
        max_length=80,
        blank=True,
        help_text="The id of what it was set aside as; empty for a payment.",
    )

    class Meta:
        ordering = ("transfer_id", "place")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["transfer", "place"], name="transfer_line_once"),
            models.UniqueConstraint(fields=["payout", "transfer"], name="transfer_line_of_payout"),
        ]

    def __str__(self) -> str:
        return f"part {self.place + 1}"


def approval_count(payout: Payout) -> int:
    """Number of eligible operators who have agreed to this amount to this recipient."""
    agreed = Proposal.objects.filter(kind=ProposalKind.PAYOUT, subject=str(payout.pk), after=payout.terms)
    return len(who_agreed(agreed, environment=payout.environment))
