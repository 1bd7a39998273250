"""Addresses where the house may be paid, withdrawals of its own coins, and its fundings."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from config import ids
from config.environments import Environment
from config.fields import UnitsField
from config.pages import wording
from merchants.ledger.models import Posting
from merchants.models import User
from payments.chains.networks import NETWORKS
from payments.transfers.models import Payout
from payments.transfers.states import MemoType
from payments.treasury.house.states import FundingStatus, WithdrawalStatus


class AllowedAddress(models.Model):
    """An address of the operator's that the house may be paid at, once two people have agreed to it.

    Address and memo never change: another one is another row.
    """

    environment = models.CharField(max_length=10, choices=Environment.choices)
    network = models.CharField(max_length=20)
    address = models.CharField(max_length=80)
    memo = models.CharField(max_length=30, blank=True)
    memo_type = models.CharField(max_length=4, choices=MemoType.choices, blank=True)
    label = models.CharField(max_length=80, help_text="Whose it is, such as the name of an exchange.")
    added_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    added_at = models.DateTimeField(default=timezone.now)
    allowed_by = models.CharField(max_length=520, blank=True, help_text="Who has agreed to it.")
    allowed_at = models.DateTimeField(null=True, blank=True, help_text="Empty: not paid until another has agreed.")
    removed_by = models.CharField(max_length=254, blank=True)
    removed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "allowed addresses"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["environment", "network", "address", "memo"],
                condition=Q(removed_at__isnull=True),
                name="allowed_address_once",
            ),
        ]

    def __str__(self) -> str:
        memo = f" memo {self.memo}" if self.memo else ""
        return f"{self.label}: {self.address}{memo} on {self.network} ({self.environment})"

    @property
    def is_allowed(self) -> bool:
        return self.allowed_at is not None and self.removed_at is None


class Withdrawal(ids.KeyedByTime, ids.PublicRecord, models.Model):
    """Coins of the house's own that leave for an allowed address: reserved when as many people have agreed as must.

    Or coins that somebody has sent by hand, which as many have explained.
    """

    public_ids: ClassVar = ids.WITHDRAWAL

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    environment = models.CharField(max_length=10, choices=Environment.choices)
    network = models.CharField(max_length=20)
    asset = models.CharField(max_length=8, help_text="Code of the coin.")
    decimals = models.PositiveSmallIntegerField(help_text="Of the coin on this network.")
    amount = UnitsField()
    of_stock = UnitsField(default=0, help_text="Of the amount: what came out of the treasury's stock.")
    own = UnitsField(help_text="What the house had of its own when this was reserved.")
    address = models.ForeignKey(
        AllowedAddress,
        null=True,
        on_delete=models.PROTECT,
        related_name="withdrawals",
        help_text="Empty: it goes to the cold wallet, or it was sent by hand and booked afterwards.",
    )
    is_lost = models.BooleanField(
        default=False, help_text="The house did not take these coins: they are a loss that it bears."
    )
    is_skim = models.BooleanField(
        default=False, help_text="To the cold wallet: the coins stay ours, and are nobody's result."
    )
    recipient = models.CharField(max_length=80)
    memo = models.CharField(max_length=30, blank=True)
    reason = models.TextField()
    proposed_by = models.ForeignKey(
        User, null=True, on_delete=models.PROTECT, related_name="+", help_text="Empty: found after a restore."
    )
    agreed_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    status = models.CharField(max_length=10, choices=WithdrawalStatus.choices, default=WithdrawalStatus.PENDING)
    payout = models.OneToOneField(Payout, on_delete=models.PROTECT, related_name="withdrawal")
    transaction_hash = models.CharField(max_length=80, blank=True)
    failure_code = models.CharField(max_length=40, blank=True)
    failure_message = models.CharField(max_length=300, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(amount__gt=0), name="withdrawal_amount_positive"),
            models.CheckConstraint(
                condition=Q(amount__lte=F("own")) | Q(address__isnull=True), name="withdrawal_within_own"
            ),
            models.CheckConstraint(
                condition=Q(is_lost=False) | Q(address__isnull=True), name="withdrawal_lost_by_hand"
            ),
            models.CheckConstraint(
                condition=Q(of_stock__gte=0, of_stock__lte=F("amount")), name="withdrawal_of_stock_is_a_part"
            ),
            models.CheckConstraint(
                condition=Q(status=WithdrawalStatus.PENDING, ended_at__isnull=True)
                | (~Q(status=WithdrawalStatus.PENDING) & Q(ended_at__isnull=False)),
                name="withdrawal_ended_with_its_end",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["id"], name="withdrawal_pending", condition=Q(status=WithdrawalStatus.PENDING)),
        ]

    def __str__(self) -> str:
        return f"{self.public_id}: {self.coins} on {self.network} ({self.environment}) to {self.recipient}"

    @property
    def coins(self) -> str:
        """`12.50 USDC`."""
        return wording.coins(self.amount, self.decimals, self.asset)


class Funding(ids.KeyedByTime, models.Model):
    """Coins that the house puts into a hot wallet, by agreement of two people; booked once they are seen there."""

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    environment = models.CharField(max_length=10, choices=Environment.choices)
    network = models.CharField(max_length=20)
    asset = models.CharField(max_length=8, help_text="Code of the coin, or of the network's own.")
    decimals = models.PositiveSmallIntegerField()
    amount = UnitsField()
    reason = models.TextField()
    proposed_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    agreed_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    status = models.CharField(max_length=10, choices=FundingStatus.choices, default=FundingStatus.EXPECTED)
    posting = models.OneToOneField(Posting, null=True, on_delete=models.PROTECT, related_name="funding")
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(amount__gt=0), name="funding_amount_positive"),
            models.CheckConstraint(
                condition=Q(status=FundingStatus.BOOKED, posting__isnull=False)
                | (~Q(status=FundingStatus.BOOKED) & Q(posting__isnull=True)),
                name="funding_booked_by_a_posting",
            ),
        ]

    def __str__(self) -> str:
        memo = f", memo {self.memo}" if self.memo else ""
        return f"{self.coins} for {self.network} ({self.environment}){memo}"

    @property
    def memo(self) -> str:
        """Distinguishes these coins from deposits where both arrive at the hot wallet; empty elsewhere.

        A number far above those of payments, and below the largest that a memo can be.
        """
        takes_memos = NETWORKS[self.network].real.shares_account
        return str(10**18 + self.id.int % 10**18) if takes_memos else ""

    @property
    def coins(self) -> str:
        """`12.50 USDC`."""
        return wording.coins(self.amount, self.decimals, self.asset)
