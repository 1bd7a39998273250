"""Operators may look at the simulated networks; what happens on them is decided elsewhere."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from payments.chains.simulated.models import SimulatedNetwork, SimulatedTransaction, SimulatedTransfer


class ReadOnly:
    """Looking is allowed, changing is not."""

    def has_add_permission(self, request: HttpRequest, *arguments: Any) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, *arguments: Any) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, *arguments: Any) -> bool:
        return False


class TransferInline(ReadOnly, admin.TabularInline[SimulatedTransfer, SimulatedTransaction]):
    model = SimulatedTransfer
    fields = ("ordinal", "contract", "amount", "recipient", "memo")


@admin.register(SimulatedNetwork)
class SimulatedNetworkAdmin(ReadOnly, admin.ModelAdmin[SimulatedNetwork]):
    list_display = ("network", "height", "generation", "outage_until")


@admin.register(SimulatedTransaction)
class SimulatedTransactionAdmin(ReadOnly, admin.ModelAdmin[SimulatedTransaction]):
    list_display = ("transaction_hash", "network", "status", "height", "sender", "sequence", "error")
    list_filter = ("network", "status")
    search_fields = ("=transaction_hash", "=sender", "=transfers__recipient")
    ordering = ("-id",)
    inlines = (TransferInline,)
