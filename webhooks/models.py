"""Events, endpoints, deliveries and attempts. Event is both outbox and timeline."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import ClassVar, Self

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Func, OuterRef, Prefetch, Q, Subquery
from django.utils import timezone

from config import ids
from config.environments import Environment
from config.fields import RecordField
from merchants.models import Member, Merchant, OwnedQuerySet
from webhooks.states import DeliveryStatus, DisabledReason, EndpointStatus

# No foreign key here has an index of its own: another index begins with it, and every index costs something for every
# event, delivery and attempt.

REPLY_START_BYTES = 1000
"""Bytes of a reply that are shown; more is stored."""


class EventQuerySet(OwnedQuerySet["Event"]):
    def about(self, object_id: uuid.UUID) -> Self:
        """The events of one record, oldest first."""
        return self.filter(object_id=object_id).order_by("version", "id")


class Event(ids.KeyedByTime, ids.PublicRecord, models.Model):
    """One change of one record, with the whole record as it was then. Never edited."""

    public_ids: ClassVar = ids.EVENT

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, db_index=False, related_name="+")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    type = models.CharField(max_length=40)
    object_id = models.UUIDField(help_text="The key of the record the event is about.")
    version = models.PositiveIntegerField(help_text="The record's version; it only grows.")
    payload = RecordField(help_text="The record as the API showed it at this version.")
    direct_url = models.CharField(
        max_length=2000, blank=True, help_text="A webhook address of the record's own, told besides the endpoints."
    )
    sample_of = models.CharField(
        max_length=40,
        blank=True,
        default="",
        db_default="",
        help_text="Of a test: the type of event whose sample is sent. Nothing of the kind has happened.",
    )
    is_fanned_out = models.BooleanField(
        default=False, help_text="Its deliveries exist: one for each endpoint that listens."
    )

    objects: ClassVar[models.Manager[Event]] = EventQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["object_id", "version", "type"], name="event_once_per_version"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["merchant", "environment", "id"], include=["type"], name="event_of"),
            models.Index(
                fields=["merchant", "environment", "type", "id"],
                name="event_of_rare_type",
                condition=~Q(type__in=["payment.created", "payment.pending", "payment.completed"]),
            ),
            models.Index(fields=["id"], name="event_to_fan_out", condition=Q(is_fanned_out=False)),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.public_id}"


class SigningSecret(models.Model):
    """The account's own secret, one for each environment: it signs deliveries to payments' own webhook URLs."""

    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, db_index=False, related_name="+")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    encrypted = models.BinaryField()
    previous_encrypted = models.BinaryField(null=True)
    previous_expires_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["merchant", "environment"], name="signing_secret_once"),
        ]

    def __str__(self) -> str:
        return f"signing secret of {self.merchant_id} ({self.environment})"


class EndpointQuerySet(OwnedQuerySet["Endpoint"]):
    def registered(self) -> Self:
        """Endpoints that a merchant made and has not deleted; not those that stand for a payment's own URL."""
        return self.existing().filter(is_direct=False)

    def existing(self) -> Self:
        return self.filter(deleted_at__isnull=True)


class Endpoint(ids.KeyedByTime, ids.PublicRecord, models.Model):
    """A URL that is sent events, signed with a secret.

    A payment's own webhook URL is an endpoint too, made when it is first needed (`is_direct`), so that it has
    its own limit of requests in flight and its own record of failures; it is signed with the account's secret.
    """

    public_ids: ClassVar = ids.WEBHOOK

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, db_index=False, related_name="+")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    url = models.CharField(max_length=2000)
    description = models.CharField(max_length=200, blank=True)
    events = ArrayField(models.CharField(max_length=40), default=list, help_text="Event types; `*` means all of them.")
    is_direct = models.BooleanField(default=False)
    status = models.CharField(max_length=10, choices=EndpointStatus.choices, default=EndpointStatus.ENABLED)
    disabled_reason = models.CharField(max_length=10, choices=DisabledReason.choices, blank=True)
    disabled_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    subscribed_at = models.DateTimeField(
        default=timezone.now, help_text="Since when it has been listening without a break: made, or enabled again."
    )
    events_changed_at = models.DateTimeField(null=True, blank=True)

    secret_encrypted = models.BinaryField(null=True, help_text="Empty for a direct endpoint.")
    previous_secret_encrypted = models.BinaryField(null=True)
    previous_secret_expires_at = models.DateTimeField(null=True, blank=True)

    failing_since = models.DateTimeField(null=True, blank=True, help_text="Nothing has succeeded since then.")
    is_recovering = models.BooleanField(default=False, help_text="It answers again, and its backlog is sent slowly.")
    next_claim_at = models.DateTimeField(
        default=timezone.now, help_text="Nothing is sent before: the pace of recovery."
    )
    is_mail_due = models.BooleanField(default=False, help_text="The merchant is to be told that it was disabled.")

    objects: ClassVar[models.Manager[Endpoint]] = EndpointQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["merchant", "environment", "url"], name="endpoint_direct_once", condition=Q(is_direct=True)
            ),
            models.CheckConstraint(
                condition=Q(is_direct=True) | Q(secret_encrypted__isnull=False), name="endpoint_has_secret"
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["merchant", "environment", "id"], name="endpoint_of")]

    def __str__(self) -> str:
        return self.url


class ConnectionCode(models.Model):
    """A member's agreement that an application gets a key pair, and a webhook, for a code: deleted when it is used."""

    digest = models.BinaryField(max_length=32, primary_key=True)
    member = models.ForeignKey(Member, on_delete=models.CASCADE, related_name="+")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    name = models.CharField(max_length=80)
    scopes = ArrayField(models.CharField(max_length=30))
    webhook_url = models.CharField(max_length=2000, blank=True)
    events = ArrayField(models.CharField(max_length=40))
    challenge = models.CharField(max_length=43, help_text="SHA-256 of the application's verifier, in base64url.")
    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class EndpointLease(models.Model):
    """The lease of the one dispatcher that sends to an endpoint; it exists only while the dispatcher does."""

    endpoint = models.OneToOneField(Endpoint, on_delete=models.CASCADE, primary_key=True, related_name="lease")
    dispatcher = models.BigIntegerField()
    until = models.DateTimeField(help_text="Any dispatcher may have the endpoint then, if this one has not renewed it.")

    def __str__(self) -> str:
        return f"{self.endpoint_id} to {self.dispatcher}"


class DeliveryQuerySet(OwnedQuerySet["Delivery"]):
    def to_show(self) -> Self:
        """With what its record needs: its attempts, and of each reply only the beginning."""
        attempts = Prefetch("attempts", Attempt.objects.beginnings().order_by("number"))
        return self.select_related("event", "endpoint").defer("event__payload").prefetch_related(attempts)

    def with_last_attempt(self) -> Self:
        """With `last_at` and `last_code`, the time of the newest attempt and the status code of its reply."""
        newest = Attempt.objects.filter(delivery=OuterRef("pk")).order_by("-number")
        return self.annotate(
            last_at=Subquery(newest.values("started_at")[:1]), last_code=Subquery(newest.values("status_code")[:1])
        )


class Delivery(ids.KeyedByTime, ids.PublicRecord, models.Model):
    """One event for one endpoint, until it has arrived or was given up."""

    public_ids: ClassVar = ids.DELIVERY

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, db_index=False, related_name="+")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    event = models.ForeignKey(Event, on_delete=models.PROTECT, db_index=False, related_name="deliveries")
    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, db_index=False, related_name="deliveries")
    status = models.CharField(max_length=10, choices=DeliveryStatus.choices, default=DeliveryStatus.PENDING)
    attempt_count = models.PositiveIntegerField(default=0, help_text="Attempts ever made.")
    attempts_left = models.PositiveSmallIntegerField(default=0, help_text="Of the schedule, this one included.")
    early_tries = models.PositiveSmallIntegerField(default=0, db_default=0, help_text="Not counted as the schedule's.")
    next_attempt_at = models.DateTimeField(null=True, default=timezone.now, help_text="Empty when none is due.")
    delivered_at = models.DateTimeField(null=True, blank=True)

    last_at: datetime | None
    last_code: int | None
    """Only set on rows of `with_last_attempt`, None without an attempt; `last_code` also without a reply."""

    objects: ClassVar[models.Manager[Delivery]] = DeliveryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "deliveries"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["event", "endpoint"], name="delivery_once"),
            models.CheckConstraint(
                condition=Q(status=DeliveryStatus.PENDING, next_attempt_at__isnull=False)
                | (~Q(status=DeliveryStatus.PENDING) & Q(next_attempt_at__isnull=True)),
                name="delivery_due_while_pending",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["merchant", "environment", "id"], include=["status"], name="delivery_of"),
            models.Index(fields=["endpoint", "id"], include=["status"], name="delivery_by_endpoint"),
            models.Index(
                fields=["merchant", "environment", "status", "id"],
                name="delivery_that_failed",
                condition=Q(status__in=[DeliveryStatus.FAILED, DeliveryStatus.DISCARDED]),
            ),
            models.Index(
                fields=["endpoint", "next_attempt_at"],
                name="delivery_due",
                condition=Q(status=DeliveryStatus.PENDING),
            ),
        ]

    def __str__(self) -> str:
        return self.public_id


class AttemptQuerySet(models.QuerySet["Attempt"]):
    def beginnings(self) -> Self:
        """Without the replies, except their first bytes as `reply_start`."""
        start = Func(F("reply"), 1, REPLY_START_BYTES, function="substring", output_field=models.BinaryField())
        return self.defer("reply").annotate(reply_start=start)


class Attempt(models.Model):
    """One request to an endpoint and what came back, kept for 60 days, then until its delivery's month is dropped."""

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    delivery = models.ForeignKey(Delivery, on_delete=models.PROTECT, db_index=False, related_name="attempts")
    number = models.PositiveIntegerField()
    started_at = models.DateTimeField()
    duration_milliseconds = models.PositiveIntegerField()
    status_code = models.PositiveSmallIntegerField(null=True, help_text="Empty when there was no reply.")
    reply = models.BinaryField(default=bytes, help_text="The beginning of the reply's body, at most 16 KiB.")
    error = models.CharField(max_length=300, blank=True, help_text="Why there was no reply, or why it is no success.")

    reply_start: bytes
    """Only set on rows of `beginnings`."""

    objects: ClassVar[models.Manager[Attempt]] = AttemptQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["delivery", "number"], name="attempt_once")]
        indexes: ClassVar = [models.Index(fields=["started_at"], name="attempt_by_age")]

    def __str__(self) -> str:
        return f"attempt {self.number}"

    @property
    def is_success(self) -> bool:
        return self.status_code is not None and 200 <= self.status_code < 300


class NoticeRound(models.Model):
    """End of the last round of notices: one row."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    told_until = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [models.CheckConstraint(condition=Q(id=1), name="notice_round_once")]

    def __str__(self) -> str:
        return f"until {self.told_until:%Y-%m-%d %H:%M:%S}"
