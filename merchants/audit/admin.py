"""The audit log of every merchant, for operators to read."""

from __future__ import annotations

from django.contrib import admin

from config.admin.base import LongList, ReadOnly
from config.admin.columns import RecordPage
from merchants.audit.models import LoggedAction


@admin.register(LoggedAction)
class LoggedActionAdmin(LongList, ReadOnly, RecordPage[LoggedAction]):
    list_display = ("created_at", "merchant", "environment", "email", "role", "words", "record", "address")
    list_filter = ("environment", "action", "role")
    list_select_related = ("merchant",)
    search_fields = ("=record", "=email", "=address", "merchant__name")
    fields = (
        "created_at",
        "merchant",
        "environment",
        "person",
        "email",
        "role",
        "words",
        "action",
        "record",
        "before",
        "after",
        "address",
        "device",
    )
