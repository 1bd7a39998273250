"""Exchange rates as operators see them: what is quoted now, and each observation."""

from __future__ import annotations

from typing import ClassVar

from django.contrib import admin

from config.admin.base import ReadOnly
from config.admin.columns import RecordPage
from payments.rates.models import CurrentRate, RateSnapshot, RecordedRate


@admin.register(CurrentRate)
class CurrentRateAdmin(ReadOnly, RecordPage[CurrentRate]):
    list_display = ("base", "quote", "rate", "sources", "observed_at", "agreed_at")
    ordering: ClassVar = ["base", "quote"]
    search_fields = ("base", "quote")


@admin.register(RateSnapshot)
class RateSnapshotAdmin(ReadOnly, RecordPage[RateSnapshot]):
    list_display = ("base", "quote", "rate", "source", "observed_at", "fetched_at")
    list_filter = ("source", "base")
    ordering: ClassVar = ["-id"]
    search_fields = ("quote",)
    show_full_result_count = False


@admin.register(RecordedRate)
class RecordedRateAdmin(ReadOnly, RecordPage[RecordedRate]):
    list_display = ("day", "environment", "base", "quote", "rate", "source", "recorded_at")
    list_filter = ("environment", "base")
    ordering: ClassVar = ["-id"]
    search_fields = ("quote",)
    show_full_result_count = False
