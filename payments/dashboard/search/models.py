"""What a part of a payment's text is found by."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models


class SearchEntry(models.Model):
    """The searchable text of one payment, and the pieces that an index finds it by. Written once, in the background.

    It repeats what the payment says, so it can be deleted: the task writes it again.
    """

    payment_id = models.UUIDField(primary_key=True)
    merchant_id = models.UUIDField()
    environment = models.CharField(max_length=10)
    text = models.TextField(help_text="In lower case: id, coin amount, values of the metadata, a line each.")
    pieces = ArrayField(models.IntegerField(), help_text="Of every three characters in a row, with the merchant.")

    class Meta:
        verbose_name_plural = "search entries"
        indexes: ClassVar = [
            models.Index(fields=["merchant_id", "environment", "payment_id"], name="search_entry_of"),
            GinIndex(fields=["pieces"], name="search_entry_pieces"),
        ]

    def __str__(self) -> str:
        return str(self.payment_id)
