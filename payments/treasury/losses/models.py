"""Coins missing at deposit addresses, and who bears the loss."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from config.environments import Environment
from config.fields import UnitsField
from config.pages import wording


class MissingStatus(models.TextChoices):
    OPEN = "open", "To be decided"
    LOST = "lost", "Booked as a loss"
    RETURNED = "returned", "There again"


class Bearer(models.TextChoices):
    MERCHANT = "merchant", "The merchant"
    HOUSE = "house", "The house"


class MissingCoins(models.Model):
    """Coins of one kind that, by the ledger, are at a deposit address and, by the network, are not."""

    environment = models.CharField(max_length=10, choices=Environment.choices)
    network = models.CharField(max_length=20)
    asset = models.CharField(max_length=8, help_text="Code of the coin.")
    decimals = models.PositiveSmallIntegerField(help_text="Of the coin on this network.")
    address = models.CharField(max_length=80)
    payment = models.ForeignKey(
        "payments.Payment",
        null=True,
        on_delete=models.PROTECT,
        related_name="missing_coins",
        help_text="Whose address.",
    )
    amount = UnitsField(help_text="Base units that are missing.")
    held = UnitsField(default=0, help_text="Of the merchant's balance, set aside until somebody has decided.")
    hold_count = models.PositiveIntegerField(default=0, help_text="Numbers the ledger postings of the hold.")
    height = models.BigIntegerField(help_text="The final block at which it was compared last.")
    status = models.CharField(max_length=10, choices=MissingStatus.choices, default=MissingStatus.OPEN)
    found_at = models.DateTimeField(default=timezone.now)
    bearer = models.CharField(max_length=10, choices=Bearer.choices, blank=True)
    reason = models.TextField(blank=True, help_text="What happened to the coins, in the words of who decided.")
    approved_by = models.CharField("decided by", max_length=150, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "missing coins"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["environment", "network", "asset", "address"],
                name="missing_coins_open_once",
                condition=Q(status=MissingStatus.OPEN),
            ),
            models.CheckConstraint(condition=Q(amount__gt=0, held__gte=0), name="missing_coins_positive"),
            models.CheckConstraint(condition=Q(held__lte=F("amount")), name="missing_coins_held_at_most_missing"),
            models.CheckConstraint(
                condition=~Q(status=MissingStatus.LOST)
                | (~Q(bearer="") & ~Q(reason="") & ~Q(approved_by="") & Q(held=0)),
                name="missing_coins_lost_by_people",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.coins} at {self.address} on {self.network} ({self.environment})"

    @property
    def coins(self) -> str:
        """`12.50 USDC`."""
        return wording.coins(self.amount, self.decimals, self.asset)
