"""The wallet of a merchant on each network: the one in use, the one that waits to replace it, those before, and those
whose key is lost."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from config import ids
from config.environments import Environment
from merchants.models import Merchant, OwnedQuerySet
from payments.merchant_wallets.states import Proof, WalletStatus


class MerchantWallet(ids.KeyedByTime, ids.PublicRecord, models.Model):
    """An address that a member of the merchant has named for a network. Rows are never deleted."""

    public_ids: ClassVar = ids.MERCHANT_WALLET

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    network = models.CharField(max_length=20)
    address = models.CharField(max_length=80)
    label = models.CharField(max_length=60, blank=True)
    status = models.CharField(max_length=10, choices=WalletStatus.choices, default=WalletStatus.WAITING)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    takes_effect_at = models.DateTimeField(default=timezone.now, help_text="The end of its wait.")
    ended_at = models.DateTimeField(null=True, help_text="When it was replaced or cancelled.")

    proof = models.CharField(max_length=10, choices=Proof.choices, blank=True)
    proven_at = models.DateTimeField(null=True)
    signed_text = models.TextField(
        blank=True, help_text="The message that its key or its contract's owners have signed."
    )
    signature = models.TextField(blank=True)

    objects: ClassVar[models.Manager[MerchantWallet]] = OwnedQuerySet["MerchantWallet"].as_manager()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["merchant", "environment", "network"],
                condition=Q(status=WalletStatus.IN_USE),
                name="merchant_wallet_one_in_use",
            ),
            models.UniqueConstraint(
                fields=["merchant", "environment", "network"],
                condition=Q(status=WalletStatus.WAITING),
                name="merchant_wallet_one_waiting",
            ),
            models.UniqueConstraint(
                fields=["merchant", "environment", "network", "address"],
                condition=Q(status=WalletStatus.LOST),
                name="merchant_wallet_lost_once",
            ),
            models.CheckConstraint(
                condition=Q(environment__in=Environment.values, status__in=WalletStatus.values),
                name="merchant_wallet_values",
            ),
            models.CheckConstraint(
                condition=Q(proof="", proven_at__isnull=True) | Q(~Q(proof=""), proven_at__isnull=False),
                name="merchant_wallet_proof_has_its_time",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["merchant", "environment", "id"], name="merchant_wallet_of"),
            models.Index(
                fields=["takes_effect_at"], name="merchant_wallet_due", condition=Q(status=WalletStatus.WAITING)
            ),
            models.Index(
                fields=["takes_effect_at"], name="merchant_wallet_lost_due", condition=Q(status=WalletStatus.LOST)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.address} on {self.network}"
