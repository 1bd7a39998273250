"""The table of the bare twins: about what a first sketch of a payment would have."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from config import ids
from merchants.models import Merchant


class TwinPayment(models.Model):
    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+")
    status = models.CharField(max_length=20, default="created")
    amount = models.DecimalField(max_digits=12, decimal_places=2)
    currency = models.CharField(max_length=3)
    cryptocurrency = models.CharField(max_length=8)
    network = models.CharField(max_length=20)
    merchant_wallet = models.CharField(max_length=80)

    objects: ClassVar[models.Manager[TwinPayment]] = models.Manager()

    def __str__(self) -> str:
        return str(self.id)
