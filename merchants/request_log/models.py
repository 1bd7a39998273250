"""Requests to the API as the merchant whose key they carried reads them: without secrets, and for some weeks."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar, Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from config import ids
from config.environments import Environment
from merchants.models import Merchant, OwnedQuerySet


def kept_since(now: datetime) -> datetime:
    """The instant before which requests are shown to nobody, whether their month is dropped already or not."""
    return now - timedelta(days=settings.REQUESTS_KEPT_DAYS)


class LoggedRequestQuerySet(OwnedQuerySet["LoggedRequest"]):
    def of(self, merchant: Merchant, environment: str) -> Self:
        return super().of(merchant, environment).filter(pk__gte=ids.first_uuid_at(kept_since(timezone.now())))


class LoggedRequest(ids.KeyedByTime, ids.PublicRecord, models.Model):
    """One request with a known key, and its reply. Its key holds the millisecond in which it arrived.

    Neither merchant nor key is a foreign key of the database: that would lock their rows with every request.
    """

    public_ids: ClassVar = ids.LOGGED_REQUEST

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    merchant = models.ForeignKey(
        Merchant, on_delete=models.PROTECT, db_constraint=False, db_index=False, related_name="+"
    )
    environment = models.CharField(max_length=10, choices=Environment.choices)
    public_key = models.CharField(max_length=80, help_text="The public half of the key pair.")
    request_id = models.CharField(max_length=64, help_text="The caller's own, or the one it was given.")
    method = models.CharField(max_length=10)
    path = models.CharField(max_length=500)
    query = models.CharField(max_length=2000, blank=True)
    idempotency_key = models.CharField(max_length=255, blank=True)
    address = models.GenericIPAddressField(null=True, help_text="Where it came from, if the server knows it.")
    status = models.PositiveSmallIntegerField()
    error_code = models.CharField(max_length=60, blank=True)
    duration_milliseconds = models.PositiveIntegerField()
    body = models.TextField(blank=True, help_text="The beginning of what was sent, without secrets.")
    body_bytes = models.PositiveIntegerField(help_text="How long it was.")
    reply = models.TextField(blank=True, help_text="The beginning of what was sent back, without secrets.")
    reply_bytes = models.PositiveIntegerField()

    objects: ClassVar[models.Manager[LoggedRequest]] = LoggedRequestQuerySet.as_manager()

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["merchant", "environment", "-id"], name="request_list"),
            models.Index(
                fields=["merchant", "environment", "-id"],
                include=["status"],
                name="request_list_of_errors",
                condition=Q(status__gte=400),
            ),
            models.Index(fields=["merchant", "request_id"], name="request_by_its_id"),
        ]

    def __str__(self) -> str:
        return f"{self.method} {self.path}: {self.status}"
