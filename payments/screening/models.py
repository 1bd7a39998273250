"""Sanctions lists as they were imported, and the addresses of those in force."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone


class SanctionsList(models.Model):
    """An import of a list. The newest of each source is in force; those before stay as a record, without addresses.

    A network's oracle has one row, with what it has named of the addresses that it was queried about.
    """

    source = models.CharField(max_length=40, help_text="Whose list it is, as ofac or eu.")
    file_name = models.CharField(max_length=200)
    sha256 = models.CharField("SHA-256", max_length=64, help_text="Of the file.")
    published_on = models.DateField(null=True, help_text="By the file itself; empty where it has no date.")
    imported_at = models.DateTimeField(default=timezone.now)
    replaced_at = models.DateTimeField(null=True, help_text="When another took its place; empty: it is in force.")
    entry_count = models.PositiveIntegerField(help_text="People, groups and others in the file.")
    address_count = models.PositiveIntegerField(help_text="Addresses of our networks' kinds, without doubles.")
    foreign_count = models.PositiveIntegerField(help_text="Addresses of other networks, which are not compared.")
    compare_at = models.DateTimeField(
        null=True, default=timezone.now, help_text="When what came and left before is compared with it; empty: it was."
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["source"], condition=Q(replaced_at__isnull=True), name="sanctions_list_in_force_once"
            ),
        ]

    def __str__(self) -> str:
        published = f", published {self.published_on}" if self.published_on else ""
        digest = f", SHA-256 {self.sha256}" if self.sha256 else ""
        return f"{self.source} ({self.file_name}{published}{digest})"


class ListedAddress(models.Model):
    """An address that a list in force names, in the spelling of deposits and payouts."""

    source = models.ForeignKey(SanctionsList, on_delete=models.CASCADE, related_name="addresses")
    address = models.CharField(max_length=80)
    entry = models.CharField(max_length=40, blank=True, help_text="Number of the entry in the list.")
    name = models.CharField(max_length=300, blank=True)
    programme = models.CharField(max_length=200, blank=True)

    class Meta:
        verbose_name_plural = "listed addresses"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["address", "source"], name="listed_address_once"),
        ]

    def __str__(self) -> str:
        entry = " ".join(filter(None, [f"entry {self.entry}" if self.entry else "", self.name]))
        named = f" as {entry}" if entry else ""
        return f"{self.address} is named by {self.source}{named}" + (f" [{self.programme}]" if self.programme else "")
