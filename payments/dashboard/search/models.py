"""Index of parts of a payment's text."""

from __future__ import annotations

import uuid
from typing import ClassVar, Final

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q

from payments.dashboard.search.pieces import SPARSE

NO_DEPOSIT: Final = uuid.UUID(int=0)
"""Older than every deposit."""


OUTDATED: Final = ~Q(pieces__contains=[SPARSE])
"""Entries that the release before wrote, and that are written again."""


class SearchEntry(models.Model):
    """The searchable text of one payment, and the pieces that an index finds it by. Written in the background.

    It repeats the payment's data, so it can be deleted: the task writes it again.
    """

    payment_id = models.UUIDField(primary_key=True)
    merchant_id = models.UUIDField()
    environment = models.CharField(max_length=10)
    text = models.TextField(help_text="As it is compared: the metadata, then ids, addresses and hashes, a line each.")
    pieces = ArrayField(
        models.IntegerField(),
        help_text="Of every three and every two characters of the metadata, and of each second three of the rest, with "
        "merchant and span.",
    )
    deposits_until = models.UUIDField(
        null=True, help_text="Up to this deposit the payment's are in the text; empty: the version before wrote it."
    )

    class Meta:
        verbose_name_plural = "search entries"
        indexes: ClassVar = [
            models.Index(fields=["merchant_id", "environment", "payment_id"], name="search_entry_of"),
            # Each span of a search would read all of a list of what is pending.
            GinIndex(fields=["pieces"], name="search_entry_pieces", fastupdate=False),
            models.Index(fields=["payment_id"], name="search_entry_outdated", condition=OUTDATED),
            models.Index(fields=["deposits_until"], name="search_entry_until"),
        ]

    def __str__(self) -> str:
        return str(self.payment_id)
