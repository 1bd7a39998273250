"""What happened, who wants to know, and every try to tell them. Event is outbox and timeline in one."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import ClassVar, Self

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Func, Prefetch, Q
from django.utils import timezone

from config import ids
from config.environments import Environment
from config.fields import RecordField
from merchants.models import Merchant
from webhooks.states import DeliveryStatus, DisabledReason, EndpointStatus

# No foreign key here brings an index of its own: another one begins with it, and every index is paid for with every
# event, delivery and attempt.

REPLY_START_BYTES = 1000
"""How much of a reply is shown; more of it is kept."""


class EventQuerySet(models.QuerySet["Event"]):
    def of(self, merchant: Merchant, environment: str) -> Self:
        return self.filter(merchant=merchant, environment=environment)

    def about(self, object_id: uuid.UUID) -> Self:
        """The events of one record, oldest first."""
        return self.filter(object_id=object_id).order_by("version", "id")


class Event(models.Model):
    """One change of one record, with the whole record as it was then. Never edited."""

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
            models.Index(fields=["id"], name="event_to_fan_out", condition=Q(is_fanned_out=False)),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.public_id}"

    @property
    def public_id(self) -> str:
        return ids.EVENT.encode(self.id)

    @property
    def created_at(self) -> datetime:
        return ids.created_at_of(self.id)


class SigningSecret(models.Model):
    """The account's own secret, once for each environment: signs what goes to a payment's own webhook address."""

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


class EndpointQuerySet(models.QuerySet["Endpoint"]):
    def of(self, merchant: Merchant, environment: str) -> Self:
        return self.filter(merchant=merchant, environment=environment)

    def registered(self) -> Self:
        """Those a merchant made and has not deleted; not the ones that stand for a payment's own address."""
        return self.existing().filter(is_direct=False)

    def existing(self) -> Self:
        return self.filter(deleted_at__isnull=True)


class Endpoint(models.Model):
    """An address that is told of events, with a secret that signs them.

    A payment's own webhook address is an endpoint too, made when it is first needed (`is_direct`), so that it has
    its own limit of requests in flight and its own record of failures; it is signed with the account's secret.
    """

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

    @property
    def public_id(self) -> str:
        return ids.WEBHOOK.encode(self.id)

    @property
    def created_at(self) -> datetime:
        return ids.created_at_of(self.id)


class EndpointLease(models.Model):
    """One dispatcher sends to an endpoint at a time. There is a lease while it does, and none before and after."""

    endpoint = models.OneToOneField(Endpoint, on_delete=models.CASCADE, primary_key=True, related_name="lease")
    dispatcher = models.BigIntegerField()
    until = models.DateTimeField(help_text="Any dispatcher may have the endpoint then, if this one has not renewed it.")

    def __str__(self) -> str:
        return f"{self.endpoint_id} to {self.dispatcher}"


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    def of(self, merchant: Merchant, environment: str) -> Self:
        return self.filter(merchant=merchant, environment=environment)

    def to_show(self) -> Self:
        """With what its record needs: its attempts, and of each reply only the beginning."""
        attempts = Prefetch("attempts", Attempt.objects.beginnings().order_by("number"))
        return self.select_related("event", "endpoint").defer("event__payload").prefetch_related(attempts)


class Delivery(models.Model):
    """One event to one endpoint, until it has arrived or been given up."""

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
                fields=["endpoint", "next_attempt_at"],
                name="delivery_due",
                condition=Q(status=DeliveryStatus.PENDING),
            ),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def public_id(self) -> str:
        return ids.DELIVERY.encode(self.id)

    @property
    def created_at(self) -> datetime:
        return ids.created_at_of(self.id)


class AttemptQuerySet(models.QuerySet["Attempt"]):
    def beginnings(self) -> Self:
        """Without the replies but for their first bytes, as `reply_start`."""
        start = Func(F("reply"), 1, REPLY_START_BYTES, function="substring", output_field=models.BinaryField())
        return self.defer("reply").annotate(reply_start=start)


class Attempt(models.Model):
    """One request to an endpoint and what came back, kept for 60 days."""

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    delivery = models.ForeignKey(Delivery, on_delete=models.PROTECT, db_index=False, related_name="attempts")
    number = models.PositiveIntegerField()
    started_at = models.DateTimeField()
    duration_milliseconds = models.PositiveIntegerField()
    status_code = models.PositiveSmallIntegerField(null=True, help_text="Empty when there was no reply.")
    reply = models.BinaryField(default=bytes, help_text="The beginning of the reply's body, at most 16 KiB.")
    error = models.CharField(max_length=300, blank=True, help_text="Why there was no reply, or why it is no success.")

    reply_start: bytes
    """Only there on what `beginnings` found."""

    objects: ClassVar[models.Manager[Attempt]] = AttemptQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["delivery", "number"], name="attempt_once")]
        indexes: ClassVar = [models.Index(fields=["started_at"], name="attempt_by_age")]

    def __str__(self) -> str:
        return f"attempt {self.number} of {self.delivery_id}"

    @property
    def is_success(self) -> bool:
        return self.status_code is not None and 200 <= self.status_code < 300
