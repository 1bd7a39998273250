"""The counters of what payments came to, and the changes that are not folded into them yet."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class Span(models.TextChoices):
    """Length of a counter's time. Hours are kept for a few days only."""

    HOUR = "hour", "Hour"
    DAY = "day", "Day"


class TurnoverDelta(models.Model):
    """One change of what the payments of an hour came to, written in the database transaction that changes a payment.

    Appending never waits for another writer; a task folds the deltas into Turnover every few seconds.
    """

    merchant_id = models.UUIDField()
    environment = models.CharField(max_length=10)
    hour = models.DateTimeField(help_text="The beginning of the UTC hour in which the payment was created.")
    network = models.CharField(max_length=20)
    cryptocurrency = models.CharField(max_length=8)
    currency = models.CharField(max_length=3)
    paid = models.SmallIntegerField()
    unpaid = models.SmallIntegerField(help_text="Expired, or ended with less than was due.")
    volume = models.BigIntegerField(help_text="What was paid for the paid ones, in minor units of the currency.")
    seconds = models.BigIntegerField(help_text="From creation to completion, of the paid ones together.")

    class Meta:
        indexes: ClassVar = [models.Index(fields=["merchant_id", "environment"], name="turnover_delta_of")]

    def __str__(self) -> str:
        return f"{self.hour}: {self.paid:+} paid, {self.unpaid:+} unpaid"


class Turnover(models.Model):
    """Turnover of a merchant's payments created in an hour or a day, changes not folded yet left out."""

    merchant_id = models.UUIDField()
    environment = models.CharField(max_length=10)
    span = models.CharField(max_length=4, choices=Span.choices)
    starts_at = models.DateTimeField(help_text="UTC.")
    network = models.CharField(max_length=20)
    cryptocurrency = models.CharField(max_length=8)
    currency = models.CharField(max_length=3)
    paid = models.BigIntegerField()
    unpaid = models.BigIntegerField()
    volume = models.BigIntegerField()
    seconds = models.BigIntegerField()

    class Meta:
        verbose_name_plural = "turnover"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=[
                    "merchant_id",
                    "environment",
                    "span",
                    "starts_at",
                    "network",
                    "cryptocurrency",
                    "currency",
                ],
                name="turnover_once",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["starts_at"], name="turnover_hours_by_age", condition=models.Q(span=Span.HOUR)),
        ]

    def __str__(self) -> str:
        return f"{self.span} {self.starts_at}: {self.paid} paid, {self.unpaid} unpaid"
