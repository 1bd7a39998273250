"""Recent observations of the sources, and the one rate per pair that requests may quote."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.dateformat import format as date_format

from config.environments import Environment
from config.pages import wording

_CODE_LENGTH = 8


class RateSnapshot(models.Model):
    """One credible observation of one source. Kept for a while, so that a rate can be explained."""

    base = models.CharField(max_length=_CODE_LENGTH)
    quote = models.CharField(max_length=_CODE_LENGTH)
    rate = models.DecimalField(max_digits=38, decimal_places=18, help_text="Price of one base in the quote currency.")
    source = models.CharField(max_length=30)
    observed_at = models.DateTimeField(help_text="When the rate was true, says the source.")
    fetched_at = models.DateTimeField(help_text="When the source was asked.")

    class Meta:
        constraints: ClassVar = [models.CheckConstraint(condition=Q(rate__gt=0), name="rate_snapshot_positive")]
        indexes: ClassVar = [
            models.Index(fields=["fetched_at"], name="rate_snapshot_by_age"),
            models.Index(fields=["source", "fetched_at"], name="rate_snapshot_of_source"),
        ]

    def __str__(self) -> str:
        return f"{self.base}/{self.quote} {wording.rate(self.rate)} ({self.source})"


class CurrentRate(models.Model):
    """The rate the sources of a pair last agreed on. It ages until they agree again."""

    base = models.CharField(max_length=_CODE_LENGTH)
    quote = models.CharField(max_length=_CODE_LENGTH)
    rate = models.DecimalField(max_digits=38, decimal_places=18, help_text="Price of one base in the quote currency.")
    sources = ArrayField(models.CharField(max_length=30))
    observed_at = models.DateTimeField(help_text="Time of the oldest observation it rests on.")
    agreed_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["base", "quote"], name="current_rate_once_per_pair"),
            models.CheckConstraint(condition=Q(rate__gt=0), name="current_rate_positive"),
        ]

    def __str__(self) -> str:
        return f"{self.base}/{self.quote} {wording.rate(self.rate)}"


class RecordedRate(models.Model):
    """Worth of a coin in a currency on a day of UTC, kept for good: later figures are valued by it.

    The first agreed rate of the day; a day on which there was none has none.
    """

    environment = models.CharField(max_length=10, choices=Environment.choices)
    base = models.CharField(max_length=_CODE_LENGTH, help_text="Code of the coin.")
    quote = models.CharField(max_length=_CODE_LENGTH, help_text="Code of the currency.")
    day = models.DateField()
    rate = models.DecimalField(max_digits=38, decimal_places=18, help_text="Price of one base in the quote currency.")
    source = models.CharField(max_length=200)
    recorded_at = models.DateTimeField(help_text="It counts for what happened from then on.")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["environment", "quote", "base", "day"], name="rate_recorded_once_a_day"),
            models.CheckConstraint(condition=Q(rate__gt=0), name="recorded_rate_positive"),
        ]

    def __str__(self) -> str:
        return f"{self.base}/{self.quote} {wording.rate(self.rate)} on {date_format(self.day, 'j M Y')}"
