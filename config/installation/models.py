"""Facts of this installation about its own database, and its halts because of a restore."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from config.pages import wording


class Installation(models.Model):
    """The one row that identifies this database. A copy of the database carries the row of the original.

    `pulse` grows every second and is kept in the marker outside as well: a database whose pulse is behind the marker
    has lost what was committed in between.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    is_only = models.BooleanField(default=True, unique=True)
    pulse = models.BigIntegerField(default=1)
    pulsed_at = models.DateTimeField(default=timezone.now)
    server = models.CharField(max_length=40, blank=True, help_text="The server's system identifier; empty: not told.")
    database_oid = models.BigIntegerField()
    table_oid = models.BigIntegerField(help_text="Of the very table that holds this row.")
    timeline = models.BigIntegerField(null=True)
    requires_proven_wallets = models.BooleanField(
        db_default=True, help_text="It began with this rule, which REQUIRE_PROVEN_WALLETS overrides."
    )
    release = models.CharField(max_length=40, blank=True, db_default="", help_text="Of the beat that ran last.")
    stopped_at = models.DateTimeField(null=True, help_text="Since then no address is given out and nothing is paid.")

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(is_only=True), name="installation_only_one"),
        ]

    def __str__(self) -> str:
        return f"installation {self.id}"


class Sign(models.TextChoices):
    """Signs of a restored database."""

    COPIED = "copied", "The tables are a copy of those that were here"
    LOST = "lost", "What was committed last is missing"
    UNPROVED = "unproved", "The server was recovered, and nothing proves that it has everything"
    DECLARED = "declared", "An operator says so"


class Standstill(models.Model):
    """The time from when the database was found to be restored until an operator resumed it."""

    began_at = models.DateTimeField(default=timezone.now)
    sign = models.CharField(max_length=10, choices=Sign.choices)
    message = models.TextField()
    complete_until = models.DateTimeField(help_text="Everything that was committed before this is in the database.")
    ended_at = models.DateTimeField(null=True, help_text="Empty: it stands still now.")
    ended_by = models.CharField(max_length=120, blank=True)
    was_restored = models.BooleanField(null=True, help_text="No: an operator has called it a false alarm.")
    reason = models.TextField(blank=True, help_text="Why it was a false alarm.")
    findings = models.JSONField(default=dict, help_text="What the chains know and the database does not.")

    class Meta:
        ordering = ("-began_at",)

    def __str__(self) -> str:
        return f"{self.get_sign_display()}, {wording.moment(self.began_at)}"


class BackupRun(models.Model):
    """One backup that was made, or that a drill has restored and looked at; or that failed to be."""

    class Kind(models.TextChoices):
        MADE = "made", "Made"
        DRILLED = "drilled", "Tried in a drill"

    kind = models.CharField(max_length=10, choices=Kind.choices)
    ended_at = models.DateTimeField(default=timezone.now)
    name = models.CharField(max_length=200, blank=True, help_text="The file; -: it went to the standard output.")
    taken_at = models.DateTimeField(null=True, help_text="Everything committed before is in it. Empty: there is none.")
    size = models.BigIntegerField(default=0, help_text="Bytes of the dump, before it was encrypted.")
    keys = models.JSONField(default=dict, help_text="Fingerprints of the keys without which it cannot be read.")
    fault = models.TextField(blank=True, help_text="Empty: nothing was wrong.")

    class Meta:
        ordering = ("-ended_at", "-id")

    def __str__(self) -> str:
        return f"{self.get_kind_display()}, {wording.moment(self.ended_at)}"
