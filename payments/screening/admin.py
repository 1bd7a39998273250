"""Sanctions lists and what they name, as operators see them: `manage.py sanctions` imports them."""

from __future__ import annotations

from django.contrib import admin

from config.admin.base import LongList, ReadOnly
from config.admin.columns import RecordPage
from payments.screening.models import ListedAddress, SanctionsList


@admin.register(SanctionsList)
class SanctionsListAdmin(ReadOnly, LongList, RecordPage[SanctionsList]):
    list_display = (
        "source",
        "file_name",
        "published_on",
        "imported_at",
        "replaced_at",
        "entry_count",
        "address_count",
        "foreign_count",
    )
    list_filter = ("source",)


@admin.register(ListedAddress)
class ListedAddressAdmin(ReadOnly, LongList, RecordPage[ListedAddress]):
    list_display = ("address", "name", "programme", "entry", "source")
    list_filter = ("source__source",)
    list_select_related = ("source",)
    search_fields = ("address", "name")
