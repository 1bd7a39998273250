"""What happened. Event is append-only: the outbox of deliveries and the timeline of every record."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import ClassVar, Self

from django.db import models

from config import ids
from config.api.renderers import ExactDecoder, ExactEncoder
from config.environments import Environment
from merchants.models import Merchant


class EventQuerySet(models.QuerySet["Event"]):
    def of(self, merchant: Merchant, environment: str) -> Self:
        return self.filter(merchant=merchant, environment=environment)

    def about(self, object_id: uuid.UUID) -> Self:
        """The events of one record, oldest first."""
        return self.filter(object_id=object_id).order_by("version", "id")


class Event(models.Model):
    """One change of one record, with the whole record as it was then. Never edited, never deleted."""

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    type = models.CharField(max_length=40)
    object_id = models.UUIDField(help_text="The key of the record the event is about.")
    version = models.PositiveIntegerField(help_text="The record's version; it only grows.")
    payload = models.JSONField(
        encoder=ExactEncoder, decoder=ExactDecoder, help_text="The record as the API showed it at this version."
    )

    objects: ClassVar[models.Manager[Event]] = EventQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["object_id", "version", "type"], name="event_once_per_version"),
        ]
        indexes: ClassVar = [models.Index(fields=["merchant", "environment", "id"], name="event_of")]

    def __str__(self) -> str:
        return f"{self.type} {self.public_id}"

    @property
    def public_id(self) -> str:
        return ids.EVENT.encode(self.id)

    @property
    def created_at(self) -> datetime:
        return ids.created_at_of(self.id)
