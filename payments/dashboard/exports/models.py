"""Exports and the parts of their files."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from config import ids
from config.environments import Environment
from merchants.models import Merchant, OwnedQuerySet, User
from payments.dashboard.exports.states import ExportStatus


class Export(ids.KeyedByTime, ids.PublicRecord, models.Model):
    """A list of payments that a member requested as a file. The row is the queue: what is written is in its parts."""

    public_ids: ClassVar = ids.EXPORT

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    requested_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    status = models.CharField(max_length=10, choices=ExportStatus.choices, default=ExportStatus.WAITING)
    filters = models.JSONField(default=dict, help_text="Of the list, as its address names them.")
    rows_expected = models.PositiveIntegerField(null=True, help_text="Empty where the filters are not counted.")
    rows_written = models.PositiveIntegerField(default=0)
    written_to = models.UUIDField(null=True, help_text="The next part begins below this payment.")
    leased_until = models.DateTimeField(default=timezone.now, help_text="Another worker keeps off until then.")
    failures = models.PositiveSmallIntegerField(default=0, help_text="Takes in a row that wrote nothing.")
    finished_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager[Export]] = OwnedQuerySet["Export"].as_manager()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(environment__in=Environment.values), name="export_environment"),
            models.CheckConstraint(condition=Q(status__in=ExportStatus.values), name="export_status"),
            models.UniqueConstraint(
                fields=["merchant", "environment", "requested_by"],
                name="export_one_at_a_time",
                condition=Q(status__in=[ExportStatus.WAITING, ExportStatus.WRITING]),
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["leased_until"],
                name="export_due",
                condition=Q(status__in=[ExportStatus.WAITING, ExportStatus.WRITING]),
            ),
        ]

    def __str__(self) -> str:
        return self.public_id


class ExportPart(models.Model):
    """Some rows of an export's file, compressed."""

    export = models.ForeignKey(Export, on_delete=models.PROTECT, related_name="parts", db_index=False)
    number = models.PositiveIntegerField()
    body = models.BinaryField(help_text="CSV, compressed by zlib.")

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["export", "number"], name="export_part_once")]

    def __str__(self) -> str:
        return f"{self.export_id} part {self.number}"
