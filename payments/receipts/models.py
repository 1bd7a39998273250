"""The public keys of receipts. The private ones are stored nowhere."""

from __future__ import annotations

import hashlib
from typing import ClassVar

from django.db import models


class ReceiptKey(models.Model):
    """A key that receipts of a year were signed with. Never changed nor deleted: it stays published."""

    year = models.PositiveSmallIntegerField(help_text="UTC: it signs from the year's beginning to its end.")
    public_key = models.CharField(max_length=64, unique=True, help_text="Ed25519, in hexadecimal digits.")

    class Meta:
        ordering: ClassVar = ["year", "id"]

    def __str__(self) -> str:
        return f"{self.key_id} of {self.year}"

    @property
    def key_id(self) -> str:
        return hashlib.sha256(bytes.fromhex(self.public_key)).hexdigest()[:16]
